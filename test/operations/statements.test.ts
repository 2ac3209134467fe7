import assert from 'node:assert/strict';
import { asserted, assertionOf, keySetOf, newKeyPair } from '../support/client-keys.ts';
import { newProofKey, proofOf } from '../support/dpop.ts';
import { postgresMigrations, tableBelow } from '../support/portable-sql.ts';
import { redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import { type Access, accessesOf, tablesOf } from '../support/sql-keys.ts';
import { firstWords, sqlOf, statementsOf } from '../support/statements.ts';

const tables = tablesOf(postgresMigrations());

/** How a statement finds its rows, as docs/scaling.md has it: by a unique key, and from that row by the ids that are in it. */
function rowsOf(sql: string): [finds: string[], from: string[]] {
  const accesses = accessesOf(sql, tables).filter(({ table }) => table !== 'grant_endings');
  const places = (found: (by: Access['by']) => string | undefined) =>
    [...new Set(accesses.flatMap(({ table, by }) => (found(by) ? [`${table}.${found(by)}`] : [])))].toSorted();
  assert.ok(accesses.length > 0 && accesses.every(({ by }) => by !== undefined), `no key finds all rows of: ${sql}`);
  return [
    places((by) => (by && 'named' in by ? by.named : undefined)),
    places((by) => (by && 'column' in by ? by.column : undefined)),
  ];
}

// The clock stands still, so clients and keys stay in memory once the first request of each kind has warmed them.
testSignet(
  'a request costs the store what was budgeted for it, and names the rows by their keys',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    let { access_token, refresh_token } = await user.obtainTokens(client);
    const documented = tableBelow('### What a request touches').map(([request, finds, from]) => [
      request![0],
      finds!.toSorted(),
      from!.toSorted(),
    ]);
    const touched: unknown[] = [];
    const touches = (request: string, sql: string | undefined) => touched.push([request, ...rowsOf(sql ?? '')]);

    let code = '';
    const authorizing = async () => {
      const answer = await user.browser.get(client.authorizePath());
      code = redirectedTo(answer).get('code') ?? '';
      return answer;
    };
    const ofAuthorize = await sqlOf(signet, authorizing, 302);
    assert.deepEqual(firstWords(ofAuthorize), ['select', 'insert'], 'authorize with a session');
    touches('authorize, the session', ofAuthorize[0]);
    touches('authorize, the code', ofAuthorize[1]);

    const redeeming = async () => {
      const answer = await client.redeem(code);
      ({ access_token, refresh_token } = tokensOf(answer));
      return answer;
    };
    const ofExchange = await sqlOf(signet, redeeming, 200);
    assert.deepEqual(firstWords(ofExchange), ['update'], 'token');
    touches('code exchange', ofExchange[0]);

    const refreshing = async () => {
      const answer = await client.refresh(refresh_token);
      ({ access_token, refresh_token } = tokensOf(answer));
      return answer;
    };
    const ofRefresh = await sqlOf(signet, refreshing, 200);
    assert.deepEqual(firstWords(ofRefresh), ['update'], 'refresh');
    touches('refresh', ofRefresh[0]);

    const ofUserinfo = await sqlOf(signet, () => signet.userinfo(access_token), 200);
    assert.deepEqual(firstWords(ofUserinfo), ['select'], 'userinfo');
    touches('userinfo', ofUserinfo[0]);
    for (const [kind, token] of [
      ['an access token', access_token],
      ['a refresh token', refresh_token],
    ] as const) {
      const ofIntrospection = await sqlOf(signet, () => client.introspect(token), 200);
      assert.deepEqual(firstWords(ofIntrospection), ['select'], `introspection of ${kind}`);
      touches(`introspection of ${kind}`, ofIntrospection[0]);
    }
    assert.deepEqual(touched, documented);

    for (const name of ['openid-configuration', 'oauth-authorization-server', 'jwks.json']) {
      const reading = () => user.browser.get(`/.well-known/${name}`);
      assert.deepEqual(await statementsOf(signet, reading, 200), [], name);
      signet.clock.advance(3600);
      assert.deepEqual(await statementsOf(signet, reading, 200), [], `${name} with every cache expired`);
    }
  },
);

testSignet('an assertion costs one statement more, before that of the request', async ({ signet }) => {
  const pair = newKeyPair();
  const keys = { token_endpoint_auth_method: 'private_key_jwt' as const, jwks: keySetOf(pair) };
  const client = await signet.registerClient(keys);
  const user = await signet.signedInUser();
  const code = await user.authorize(client);
  const { refresh_token } = tokensOf(await client.redeem(code, asserted(await assertionOf(signet, client, pair))));
  const assertion = asserted(await assertionOf(signet, client, pair));
  const ofRefresh = await sqlOf(signet, () => client.refresh(refresh_token, assertion), 200);
  assert.deepEqual(firstWords(ofRefresh), ['insert', 'update']);
});

testSignet(
  'a proof costs one statement more, before that of the request or after that of the token',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    const key = await newProofKey();
    const token = ['POST', '/oauth/token'] as const;
    const proven = async () => ({ dpop: await proofOf(signet, key, token) });
    const code = await user.authorize(client);
    const { access_token, refresh_token } = tokensOf(await client.redeem(code, {}, await proven()));
    const proof = await proven();
    const ofRefresh = await sqlOf(signet, () => client.refresh(refresh_token, {}, proof), 200);
    assert.deepEqual(firstWords(ofRefresh), ['insert', 'update']);
    const dpop = await proofOf(signet, key, ['GET', '/oauth/userinfo'], { token: access_token });
    const headers = { authorization: `DPoP ${access_token}`, dpop };
    const ofUserinfo = await sqlOf(signet, () => fetch(`${signet.url}/oauth/userinfo`, { headers }), 200);
    assert.deepEqual(firstWords(ofUserinfo), ['select', 'insert']);
  },
);

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
