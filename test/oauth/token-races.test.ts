import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { decodeJwt } from 'jose';
import pg from 'pg';
import type { OneDb } from '../../src/platform/db/db.ts';
import type { Answer } from '../support/browser.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { plain } from '../support/plain-sql.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import {
  assertRefused,
  basic,
  type RegisteredClient,
  redirectedTo,
  type Tokens,
  tokensOf,
  verifier,
} from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { type ClientOptions, type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const rounds = repeated(5);
const connections = 64;

async function setUp(t: TestContext, engine: Engine, options: ClientOptions = {}) {
  const signet = await startSignet(t, { engine });
  const user = await signet.signedInUser();
  return { signet, user, client: await signet.registerClient({ ...options, owner: user }) };
}

/**
 * Sends one form on 64 open connections at the same time. `fetch` would spend more time on its streams than the service
 * does on its answers, and fewer requests would overlap.
 */
function concurrently(t: TestContext, signet: Signet, client: RegisteredClient) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  t.after(() => agent.destroy());
  const headers = {
    authorization: basic(client.client_id, client.client_secret ?? ''),
    'content-type': 'application/x-www-form-urlencoded',
  };
  const post = (body: string) =>
    new Promise<Answer>((resolve, reject) => {
      const outgoing = request(`${signet.url}/oauth/token`, { agent, method: 'POST', headers }, (response) => {
        const { statusCode: status = 0, rawHeaders } = response;
        const headers = new Headers();
        for (let at = 0; at < rawHeaders.length; at += 2)
          headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
        text(response).then(
          (body) => resolve({ status, headers, location: '', text: body, json: JSON.parse(body) }),
          reject,
        );
      });
      outgoing.on('error', reject).end(body);
    });
  return (fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: client.client_id, ...fields }).toString();
    return Promise.all(Array.from({ length: connections }, () => post(body)));
  };
}

/** Exactly one 200, and invalid_grant for all others: never a second 200, never a 5xx. */
function onlyWinner(answers: Answer[]): Tokens {
  const [winner, ...more] = answers.filter(({ status }) => status === 200);
  assert.ok(winner, 'no request succeeded');
  assert.equal(more.length, 0, `${more.length + 1} succeeded`);
  for (const answer of answers) if (answer !== winner) assertRefused(answer, 400, 'invalid_grant');
  return tokensOf(winner);
}

/** The other requests were replays, so the tokens of the winner are revoked as well. */
async function assertFamilyEnded(client: RegisteredClient, tokens: Tokens): Promise<void> {
  const [refreshed, introspected] = await Promise.all([
    client.refresh(tokens.refresh_token),
    client.introspect(tokens.access_token),
  ]);
  assertRefused(refreshed, 400, 'invalid_grant');
  assert.deepEqual(introspected.json, { active: false });
}

onBothEngines('of 64 concurrent redemptions of one code exactly one succeeds, each time', async (t, engine) => {
  const { signet, user, client } = await setUp(t, engine);
  const send = concurrently(t, signet, client);
  for (let round = 0; round < rounds; round += 1) {
    const code = await user.authorize(client);
    const answers = await send({
      grant_type: 'authorization_code',
      code,
      redirect_uri: client.redirect_uri,
      code_verifier: verifier,
    });
    await assertFamilyEnded(client, onlyWinner(answers));
  }
});

onBothEngines('of 64 concurrent uses of one refresh token exactly one succeeds, each time', async (t, engine) => {
  const { signet, user, client } = await setUp(t, engine);
  const send = concurrently(t, signet, client);
  for (let round = 0; round < rounds; round += 1) {
    const { refresh_token } = await user.obtainTokens(client);
    const answers = await send({ grant_type: 'refresh_token', refresh_token });
    await assertFamilyEnded(client, onlyWinner(answers));
  }
});

onBothEngines('within the retry window 64 concurrent refreshes all get the same successor', async (t, engine) => {
  const { signet, user, client } = await setUp(t, engine, { refresh_retry_window: 30 });
  const first = await user.obtainTokens(client);
  const answers = await concurrently(
    t,
    signet,
    client,
  )({ grant_type: 'refresh_token', refresh_token: first.refresh_token });
  const successors = new Set(answers.map((answer) => tokensOf(answer).refresh_token));
  assert.equal(successors.size, 1);
  const accessTokens = new Set(answers.map((answer) => tokensOf(answer).access_token));
  assert.equal(accessTokens.size, connections);
  const [successor = ''] = successors;
  const next = tokensOf(await client.refresh(successor));
  assert.notEqual(next.refresh_token, successor);
});

onBothEngines('a sign-out among concurrent refreshes revokes all their tokens', async (t, engine) => {
  const { user, client } = await setUp(t, engine);
  const families = await Promise.all(Array.from({ length: 8 }, () => user.obtainTokens(client)));
  const [signedOut, ...answers] = await Promise.all([
    signOutOf(user),
    ...families.map((tokens) => client.refresh(tokens.refresh_token)),
  ]);
  assert.equal(signedOut.status, 303);
  for (const answer of answers) {
    if (answer.status === 200) await assertFamilyEnded(client, tokensOf(answer));
    else assertRefused(answer, 400, 'invalid_grant');
  }
  for (const tokens of families) await assertFamilyEnded(client, tokens);
});

const signOutOf = (user: TestUser) => user.browser.post('/signout');

/** What ends the codes of a session, and the answer to it. The second leaves the session, under another secret. */
const endings: Record<string, (user: TestUser) => Promise<Answer>> = {
  'signs out': signOutOf,
  'changes the password': ({ browser }) => browser.postJson('/v1/me/password', { password: 'harbour velvet cactus' }),
};

for (const [what, end] of Object.entries(endings)) {
  test(`on PostgreSQL, a code that is being issued while its user ${what} is not redeemed`, async (t) => {
    const { signet, user, client } = await setUp(t, 'postgres');
    const beside = await startSignet(t, { beside: signet });
    const { browser } = user.with({ browser: beside.newBrowser() });
    for (const [name, value] of user.browser.cookies) browser.cookies.set(name, value);
    // The insert has read the session when it comes to the foreign key, and waits for the row that this one holds. Several parts have no
    // keys between them, so here one is made that has to hold.
    const { schema } = signet.deps.db.of(user.user_id) as OneDb;
    if (schema !== undefined) {
      const key = `alter table ${schema}.grants add foreign key (client_id) references clients`;
      await asAdmin(signet.deps.config.databaseUrl!, (admin) => admin.query(key));
    }
    const row = { sql: 'select 1 from clients where client_id = $1 for update', params: [client.client_id] };
    const holder = await openTransaction(t, signet.deps, row);
    const issuing = browser.get(client.authorizePath());
    await holder.untilBlocked([issuing]);
    const answer = await end(user);
    assert.ok(answer.status === 303 || answer.status === 204, answer.text);
    await holder.commit();
    const code = redirectedTo(await issuing).get('code');
    assert.ok(code, 'neither has seen the other');
    const grants = await plain(signet.deps.db).all('select revoked_at, redeemed_at from grants');
    assert.deepEqual(grants, [{ revoked_at: null, redeemed_at: null }]);
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
  });
}

onBothEngines('many users at once: each gets their own tokens and claims', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const client = await signet.registerClient();
  const users = await Promise.all(Array.from({ length: 24 }, () => signet.signedInUser()));
  const scope = 'openid email offline_access';
  const codes = await Promise.all(users.map((user) => user.authorize(client, { scope })));
  const sent = t.mock.method(pg.Client.prototype, 'query');
  const redeemed = (await Promise.all(codes.map((code) => client.redeem(code)))).map(tokensOf);
  const refreshed = (await Promise.all(redeemed.map((tokens) => client.refresh(tokens.refresh_token)))).map(tokensOf);
  const told = await Promise.all(refreshed.map(({ access_token }) => signet.userinfo(access_token)));
  const introspected = await Promise.all(refreshed.map(({ refresh_token }) => client.introspect(refresh_token)));
  for (const [index, { user_id, email }] of users.entries()) {
    const { sub, email: itsEmail } = told[index]!.json as { sub: string; email: string };
    assert.deepEqual([sub, itsEmail], [user_id, email]);
    assert.equal((introspected[index]!.json as { sub: string }).sub, user_id);
    assert.equal(decodeJwt(refreshed[index]!.id_token ?? '').sub, user_id);
  }
  if (engine === 'sqlite') return;
  const texts = sent.mock.calls.map(({ arguments: [query] }) => (query as { text?: string }).text ?? '');
  const combined = texts.filter((text) => text.includes(' as asked ('));
  assert.ok(combined.length >= 4, 'requests that arrive together are one statement');
  assert.ok(texts.length < users.length * 4, `${texts.length} statements`);
});
