import assert from 'node:assert/strict';
import { assertRefused, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

testSignet('a person signs in on the way to a client, and the client gets tokens that work', async ({ signet }) => {
  const client = await signet.registerClient();
  const person = await signet.newUser();

  const first = await person.browser.get(client.authorizePath());
  assert.equal(first.status, 302);
  const signInPath = first.location;
  assert.match(signInPath, /^\/signin\?request=/);
  assert.equal((await person.browser.get(signInPath)).status, 200);
  const request = new URL(signInPath, signet.url).searchParams.get('request') ?? '';
  const signedIn = await person.signIn({ request });
  assert.equal(signedIn.status, 303);
  const back = redirectedTo(await person.browser.get(signedIn.location));
  assert.equal(back.base, 'https://rp.test/cb');
  assert.equal(back.get('state'), 's1');
  assert.equal(back.get('iss'), signet.url);

  const tokens = tokensOf(await client.redeem(back.get('code') ?? ''));
  assert.equal(tokens.expires_in, 3600);
  assert.deepEqual((await signet.userinfo(tokens.access_token)).json, { sub: person.user_id });
  assert.equal((await client.introspect(tokens.access_token)).json?.active, true);
  const next = tokensOf(await client.refresh(tokens.refresh_token));
  assert.notEqual(next.refresh_token, tokens.refresh_token);
});

testSignet('a replayed refresh token ends its whole grant', async ({ signet }) => {
  const client = await signet.registerClient();
  const person = await signet.signedInUser();
  const first = await person.obtainTokens(client);
  const other = await person.obtainTokens(client);
  const second = tokensOf(await client.refresh(first.refresh_token));
  assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
  assertRefused(await client.refresh(second.refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(second.access_token)).json, { active: false });
  tokensOf(await client.refresh(other.refresh_token));
});

testSignet('of 64 parallel redemptions of one code one wins', async ({ signet }) => {
  const client = await signet.registerClient();
  const person = await signet.signedInUser();
  const code = await person.authorize(client);
  const answers = await Promise.all(Array.from({ length: 64 }, () => client.redeem(code)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ status }) => status === 400).length, 63);
});
