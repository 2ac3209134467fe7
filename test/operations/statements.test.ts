import assert from 'node:assert/strict';
import { redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import { statementsOf } from '../support/statements.ts';

// The clock stands still, so clients and keys stay in memory once the first request of each kind has warmed them.
testSignet('a request costs the store what was budgeted for it', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  let { access_token, refresh_token } = await user.obtainTokens(client);

  let code = '';
  const authorizing = async () => {
    const answer = await user.browser.get(client.authorizePath());
    code = redirectedTo(answer).get('code') ?? '';
    return answer;
  };
  assert.deepEqual(await statementsOf(signet, authorizing, 302), ['select', 'insert'], 'authorize with a session');

  const redeeming = async () => {
    const answer = await client.redeem(code);
    ({ access_token, refresh_token } = tokensOf(answer));
    return answer;
  };
  assert.deepEqual(await statementsOf(signet, redeeming, 200), ['update'], 'token');

  const refreshing = async () => {
    const answer = await client.refresh(refresh_token);
    ({ access_token, refresh_token } = tokensOf(answer));
    return answer;
  };
  assert.deepEqual(await statementsOf(signet, refreshing, 200), ['update'], 'refresh');

  assert.deepEqual(await statementsOf(signet, () => signet.userinfo(access_token), 200), ['select'], 'userinfo');
  for (const token of [access_token, refresh_token]) {
    const asking = () => client.introspect(token);
    assert.deepEqual(await statementsOf(signet, asking, 200), ['select'], 'introspection');
  }
  for (const name of ['openid-configuration', 'oauth-authorization-server', 'jwks.json']) {
    const reading = () => user.browser.get(`/.well-known/${name}`);
    assert.deepEqual(await statementsOf(signet, reading, 200), [], name);
    signet.clock.advance(3600);
    assert.deepEqual(await statementsOf(signet, reading, 200), [], `${name} with every cache expired`);
  }
});

testSignet('clients and keys are read again once in a second, whatever the number of requests', async ({ signet }) => {
  const client = await signet.registerClient();
  const { access_token } = await (await signet.signedInUser()).obtainTokens(client);
  signet.clock.advance(2);
  const many = async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.introspect(access_token)));
    return { status: Math.max(...answers.map(({ status }) => status)) };
  };
  const words = await statementsOf(signet, many, 200);
  assert.deepEqual(
    words,
    Array.from({ length: 22 }, () => 'select'),
  );
});
