import assert from 'node:assert/strict';
import { onBothEngines } from '../support/databases.ts';
import {
  assertRefused,
  authorize,
  authorizePath,
  introspect,
  obtainTokens,
  redeem,
  redirectedTo,
  refresh,
  tokensOf,
  userinfo,
} from '../support/relying-party.ts';
import { newPerson, registerClient, signedInPerson, signIn, startSignet } from '../support/signet.ts';

onBothEngines('a person signs in on the way to a client, and the client gets tokens that work', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const client = await registerClient(signet);
  const person = await newPerson(signet);

  const first = await person.browser.get(authorizePath(client));
  assert.equal(first.status, 302);
  const signInPath = first.headers.get('location') ?? '';
  assert.match(signInPath, /^\/signin\?request=/);
  assert.equal((await person.browser.get(signInPath)).status, 200);
  const request = new URL(signInPath, signet.url).searchParams.get('request') ?? '';
  const signedIn = await signIn(person, { request });
  assert.equal(signedIn.status, 303);
  const back = redirectedTo(await person.browser.get(signedIn.headers.get('location') ?? ''));
  assert.equal(back.base, 'https://rp.test/cb');
  assert.equal(back.get('state'), 's1');
  assert.equal(back.get('iss'), signet.url);

  const tokens = tokensOf(await redeem(signet, client, back.get('code') ?? ''));
  assert.equal(tokens.expires_in, 3600);
  assert.deepEqual((await userinfo(signet, tokens.access_token)).json, { sub: person.user_id });
  assert.equal((await introspect(signet, client, tokens.access_token)).json?.active, true);
  const next = tokensOf(await refresh(signet, client, tokens.refresh_token));
  assert.notEqual(next.refresh_token, tokens.refresh_token);
});

onBothEngines('a replayed refresh token ends its whole grant', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const client = await registerClient(signet);
  const person = await signedInPerson(signet);
  const first = await obtainTokens(signet, person, client);
  const other = await obtainTokens(signet, person, client);
  const second = tokensOf(await refresh(signet, client, first.refresh_token));
  assertRefused(await refresh(signet, client, first.refresh_token), 400, 'invalid_grant');
  assertRefused(await refresh(signet, client, second.refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await introspect(signet, client, second.access_token)).json, { active: false });
  tokensOf(await refresh(signet, client, other.refresh_token));
});

onBothEngines('of 64 parallel redemptions of one code one wins', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const client = await registerClient(signet);
  const person = await signedInPerson(signet);
  const code = await authorize(person, client);
  const answers = await Promise.all(Array.from({ length: 64 }, () => redeem(signet, client, code)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ status }) => status === 400).length, 63);
});
