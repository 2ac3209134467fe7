import assert from 'node:assert/strict';
import { deflateSync, inflateSync } from 'node:zlib';
import { decodeProtectedHeader } from 'jose';
import { createVerifier } from '../../packages/verify/src/index.ts';
import { refusal } from '../../packages/verify/test/refusal.ts';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { editApi } from '../../src/apis/manage-api.ts';
import { approveClient, suspendClient } from '../../src/clients/review-client.ts';
import { publishedBeforeUseSeconds, rotateNow } from '../../src/oauth/signing-keys/signing-keys.ts';
import { now } from '../../src/platform/clock.ts';
import { pace } from '../../src/platform/pace.ts';
import { newApi } from '../support/apis.ts';
import { plain } from '../support/plain-sql.ts';
import { claimsOf, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import { until } from '../support/until.ts';

const scope = 'openid offline_access files:read';
const identifier = 'https://files.test';
type Status = { status_list: { idx: number; uri: string } };

const statusOf = (token: string) => (claimsOf(token) as { status?: Status }).status?.status_list;

const revoke = (client: RegisteredClient, token: string) => client.post('/oauth/revoke', { token });

/** An API whose tokens have a status, a client that may ask for it, and an API that reads lists and asks for nothing else. */
async function withStatus(signet: Signet) {
  const api = await newApi(signet, ['files:read'], identifier, { token_status: 'list' });
  const newClient = (more: object = {}) =>
    signet.registerClient({ allowed_scopes: ['openid', 'offline_access', 'files:read'], ...more });
  const asked: string[] = [];
  const verify = createVerifier({
    issuer: signet.url,
    audience: identifier,
    now: signet.clock,
    fetch: (input, init) => {
      asked.push(new URL(String(input)).pathname);
      return fetch(input, init);
    },
  });
  return { api, newClient, asked, verify };
}

/** What a list says of a token, read without the package. */
async function bitOf(token: string): Promise<number> {
  const status = statusOf(token);
  assert.ok(status, 'the token has no status');
  const answer = await fetch(status.uri);
  assert.equal(answer.status, 200);
  const list = await answer.text();
  assert.equal(decodeProtectedHeader(list).typ, 'statuslist+jwt');
  assert.equal(decodeProtectedHeader(list).alg, decodeProtectedHeader(token).alg);
  const claims = claimsOf(list) as unknown as { sub: string; status_list: { bits: number; lst: string } };
  assert.equal(claims.sub, status.uri);
  assert.equal(claims.status_list.bits, 1);
  const bits = inflateSync(Buffer.from(claims.status_list.lst, 'base64url'));
  return (bits[status.idx >> 3]! >> (status.idx & 7)) & 1;
}

testSignet(
  'an API that never asks about a token refuses it within 60 seconds of its revocation, and no other token of its grant',
  async ({ signet }) => {
    const { newClient, verify, asked } = await withStatus(signet);
    for (const id_token_signed_response_alg of ['EdDSA', 'RS256'] as const) {
      const client = await newClient({ id_token_signed_response_alg });
      const user = await signet.signedInUser();
      const first = await user.obtainTokens(client, { scope });
      const second = tokensOf(await client.refresh(first.refresh_token));
      const third = tokensOf(await client.refresh(second.refresh_token));
      for (const token of [first, second, third]) {
        await verify(token.access_token);
        assert.equal(await bitOf(token.access_token), 0);
      }
      // One token alone: the others of its grant stay valid.
      assert.equal((await revoke(client, second.access_token)).status, 200);
      signet.clock.advance(60);
      await refusal(verify(second.access_token), 'invalid_token', /revoked/);
      assert.equal(await bitOf(second.access_token), 1);
      await verify(first.access_token);
      await verify(third.access_token);
      // The refresh token: every token of the grant.
      assert.equal((await revoke(client, third.refresh_token)).status, 200);
      signet.clock.advance(60);
      for (const token of [first, second, third]) await refusal(verify(token.access_token), 'invalid_token', /revoked/);
    }
    assert.ok(!asked.includes('/oauth/introspect'));
  },
);

testSignet(
  'a token that was issued before the last refresh but one hour is revoked with its grant, too',
  async ({ signet }) => {
    const { newClient, verify } = await withStatus(signet);
    const client = await newClient();
    const user = await signet.signedInUser();
    let tokens = await user.obtainTokens(client, { scope });
    const living = [tokens.access_token];
    // More tokens than a row remembers apart, over several windows.
    for (let refreshes = 0; refreshes < 80; refreshes += 1) {
      signet.clock.advance(100);
      tokens = tokensOf(await client.refresh(tokens.refresh_token));
      living.push(tokens.access_token);
    }
    const last = living.slice(-34);
    for (const token of last) await verify(token);
    await revoke(client, tokens.refresh_token);
    signet.clock.advance(60);
    for (const token of last) await refusal(verify(token), 'invalid_token', /revoked/);
  },
);

testSignet(
  'what ends many grants shows in the list: sign-out everywhere, a disabled user, a suspended client',
  async ({ signet }) => {
    const { newClient, verify } = await withStatus(signet);
    const [client, other] = [await newClient(), await newClient()];
    const users = [await signet.signedInUser(), await signet.signedInUser(), await signet.signedInUser()] as const;
    const tokens: Record<string, string> = {};
    for (const [place, user] of users.entries()) {
      tokens[`user ${place}`] = (await user.obtainTokens(client, { scope })).access_token;
      tokens[`user ${place} other`] = (await user.obtainTokens(other, { scope })).access_token;
    }
    const valid = async () => {
      signet.clock.advance(60);
      const found: string[] = [];
      for (const [name, token] of Object.entries(tokens)) {
        const isValid = await verify(token).then(
          () => true,
          (error: { code?: string }) => {
            assert.equal(error.code, 'invalid_token');
            return false;
          },
        );
        if (isValid) found.push(name);
      }
      return found.join(', ');
    };
    assert.equal(await valid(), 'user 0, user 0 other, user 1, user 1 other, user 2, user 2 other');
    const admin = await signet.signedInUser({ role: 'admin' });
    const signOut = await admin.browser.postJson(`/v1/admin/users/${users[0].user_id}/sign-out`, {
      reason: 'Lost phone',
    });
    assert.ok(signOut.status < 300, signOut.text);
    assert.equal(await valid(), 'user 1, user 1 other, user 2, user 2 other');
    await disableUser(signet.deps, { actor: 'cli' }, users[1].user_id);
    assert.equal(await valid(), 'user 2, user 2 other');
    await suspendClient(signet.deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'Phishing.');
    assert.equal(await valid(), 'user 2 other');
  },
);

/** An app with more grants than are written with their revocation. */
async function withManyGrants(signet: Signet) {
  const { newClient } = await withStatus(signet);
  const client = await newClient();
  const tokens: string[] = [];
  for (let some = 0; some < 3; some += 1) {
    const user = await signet.signedInUser();
    for (let grants = 0; grants < 40; grants += 1)
      tokens.push((await user.obtainTokens(client, { scope })).access_token);
  }
  const suspend = () =>
    suspendClient(signet.deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'Phishing.');
  return { client, tokens, suspend };
}

testSignet(
  'of more grants than are written with a revocation, each shows at the next reading, without a job and however much the jobs have to do',
  async ({ signet, t }) => {
    const { tokens, suspend } = await withManyGrants(signet);
    await bitOf(tokens[0]!);
    t.mock.method(pace, 'slices', () => () => new Promise(() => {}));
    await suspend();
    signet.clock.advance(5);
    for (const token of tokens) assert.equal(await bitOf(token), 1);
    const [written] = await plain(signet.deps.db).all<{ rows: number }>(
      'select count(*) as rows from grants where revoked_at is not null',
    );
    assert.equal(Number(written!.rows), 0);
  },
);

testSignet('a token that was being issued while its app was suspended shows, too', async ({ signet }) => {
  const { tokens, suspend } = await withManyGrants(signet);
  const [token, other] = tokens as [string, string];
  const { jti } = claimsOf(token) as unknown as { jti: string };
  const store = plain(signet.deps.db);
  const grant = [jti.split('.')[0]!];
  const [{ status_refs } = { status_refs: '' }] = await store.all<{ status_refs: string }>(
    'select status_refs from grants where grant_id = $1',
    grant,
  );
  await store.run('update grants set status_refs = null where grant_id = $1', grant);
  await suspend();
  assert.deepEqual([await bitOf(token), await bitOf(other)], [0, 1]);
  // What had begun before is committed a moment later.
  await store.run('update grants set status_refs = $2 where grant_id = $1', [...grant, status_refs]);
  signet.clock.advance(15);
  assert.equal(await bitOf(token), 1);
});

testSignet('an app that is edited while it is suspended has its grants read no more', async ({ signet }) => {
  const { newClient } = await withStatus(signet);
  const client = await newClient();
  const { client_id } = client;
  const { access_token } = await (await signet.signedInUser()).obtainTokens(client, { scope });
  await suspendClient(signet.deps, { client_id, caller: { actor: 'cli' } }, 'Phishing.');
  assert.equal(await bitOf(access_token), 1);
  let reads = 0;
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    if (sql.some((one) => one.includes('from grants') && one.includes('order by created_at, grant_id'))) reads += 1;
  });
  for (let edits = 0; edits < 3; edits += 1) {
    signet.clock.advance(20);
    const at = now(signet.deps);
    await plain(signet.deps.db).run('update clients set updated_at = $2 where client_id = $1', [client_id, at]);
    assert.equal(await bitOf(access_token), 1);
  }
  stop();
  assert.equal(reads, 0);
});

testSignet(
  'what is left of deleted grants, which may be long, is read a hundred rows at a time',
  async ({ signet }) => {
    const { newClient } = await withStatus(signet);
    const client = await newClient();
    const { access_token } = await (await signet.signedInUser()).obtainTokens(client, { scope });
    await revoke(client, access_token);
    const at = now(signet.deps);
    await plain(signet.deps.db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 350)
     insert into revoked_access_tokens (jti, expires_at, noted_at, status_refs)
     select 'gr_' || i, cast($1 as bigint), cast($2 as bigint), 'x.1' from n`,
      [at + 3600, at],
    );
    const found: number[] = [];
    for (const one of signet.deps.db.parts) {
      const { query } = one;
      Object.assign(one, {
        async query(...asked: Parameters<typeof query>) {
          const result = await query(...asked);
          if (asked[0].sql.includes('from revoked_access_tokens')) found.push(result.length);
          return result;
        },
      });
    }
    signet.clock.advance(20);
    assert.equal(await bitOf(access_token), 1);
    assert.ok(found.some((rows) => rows > 0) && found.every((rows) => rows <= 100), `${found}`);
  },
);

testSignet('a list that is in use is kept up to date without being asked for', async ({ signet }) => {
  const { tokens } = await withManyGrants(signet);
  await bitOf(tokens[0]!);
  let reads = 0;
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    if (sql.some((one) => one.includes('from grant_endings') && one.includes('order by ending_id'))) reads += 1;
  });
  await until('the store is read again', () => reads > 0);
  stop();
});

testSignet('a list is signed by the key of now from the moment on in which another key is', async ({ signet }) => {
  const { newClient, verify } = await withStatus(signet);
  const { access_token } = await (await signet.signedInUser()).obtainTokens(await newClient(), { scope });
  const { uri } = statusOf(access_token)!;
  const kidOf = async () => decodeProtectedHeader(await (await fetch(uri)).text()).kid;
  signet.clock.advance(publishedBeforeUseSeconds);
  const before = await kidOf();
  assert.equal(await kidOf(), before);
  assert.notDeepEqual(await rotateNow(signet.deps, { actor: 'cli' }), []);
  signet.clock.advance(2);
  assert.notEqual(await kidOf(), before);
  await verify(access_token);
});

testSignet('what a list has spent in a cache is not kept for as long again', async ({ signet }) => {
  const { newClient } = await withStatus(signet);
  const { access_token } = await (await signet.signedInUser()).obtainTokens(await newClient(), { scope });
  let asked = 0;
  const verify = createVerifier({
    issuer: signet.url,
    audience: identifier,
    now: signet.clock,
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      if (!String(input).includes('/status-lists/')) return answer;
      asked += 1;
      return new Response(await answer.text(), { headers: { age: '9' } });
    },
  });
  await verify(access_token);
  signet.clock.advance(5);
  await verify(access_token);
  assert.equal(asked, 1);
  signet.clock.advance(1);
  await verify(access_token);
  assert.equal(asked, 2);
});

testSignet('tokens of a user whose account was deleted stay revoked', async ({ signet }) => {
  const { newClient, verify } = await withStatus(signet);
  const client = await newClient();
  const user = await signet.signedInUser();
  const { access_token, refresh_token } = await user.obtainTokens(client, { scope });
  // Of a grant that is older than an hour, too.
  signet.clock.advance(7000);
  const later = tokensOf(await client.refresh(refresh_token)).access_token;
  await verify(later);
  await refusal(verify(access_token), 'invalid_token', /expired/);
  const admin = await signet.signedInUser({ role: 'admin' });
  const deleted = await admin.browser.delete(`/v1/admin/users/${user.user_id}`, {
    email: user.email,
    reason: 'Asked for it.',
  });
  assert.ok(deleted.status < 300, deleted.text);
  signet.clock.advance(60);
  await refusal(verify(later), 'invalid_token', /revoked/);
});

testSignet('tokens for no such API have no status, and an API changes its mind at once', async ({ signet }) => {
  const { api, newClient } = await withStatus(signet);
  await newApi(signet, ['mail:read'], 'https://mail.test');
  const client = await newClient({ allowed_scopes: ['openid', 'offline_access', 'files:read', 'mail:read'] });
  const user = await signet.signedInUser();
  assert.equal(statusOf((await user.obtainTokens(client, { scope: 'openid' })).access_token), undefined);
  assert.equal(statusOf((await user.obtainTokens(client, { scope: 'openid mail:read' })).access_token), undefined);
  const both = await user.obtainTokens(client, { scope: `${scope} mail:read` });
  assert.ok(statusOf(both.access_token));
  const narrowed = tokensOf(await client.refresh(both.refresh_token, { resource: 'https://mail.test' }));
  assert.equal(statusOf(narrowed.access_token), undefined);
  await editApi(signet.deps, { actor: 'cli' }, api.api_id, { token_status: 'none' });
  const without = tokensOf(await client.refresh(narrowed.refresh_token));
  assert.equal(statusOf(without.access_token), undefined);
  signet.clock.advance(20_000);
  await editApi(signet.deps, { actor: 'cli' }, api.api_id, { token_status: 'list' });
  assert.ok(statusOf(tokensOf(await client.refresh(without.refresh_token)).access_token));
});

testSignet(
  'each token of a client that asks for it has a status, also for an API that does not, and is refused when it was revoked',
  async ({ signet }) => {
    const { newClient } = await withStatus(signet);
    await newApi(signet, ['mail:read'], 'https://mail.test');
    const allowed_scopes = ['openid', 'offline_access', 'mail:read'];
    const owner = await signet.signedInUser();
    const client = await newClient({ allowed_scopes, owner });
    const user = await signet.signedInUser();
    const scopes = { mail: 'openid offline_access mail:read', own: 'openid offline_access' };
    const without = await user.obtainTokens(client, { scope: scopes.mail });
    assert.equal(statusOf(without.access_token), undefined);
    // As every field that is reviewed: an edit counts when it was approved.
    const { client_id } = client;
    const edited = await owner.browser.patch(`/v1/oauth/clients/${client_id}`, { status_in_access_token: true });
    assert.equal(edited.status, 200, edited.text);
    const early = tokensOf(await client.refresh(without.refresh_token));
    assert.equal(statusOf(early.access_token), undefined);
    await approveClient(
      signet.deps,
      { client_id, caller: { actor: 'cli' } },
      { revision: Number((edited.json as { revision: number }).revision) },
    );
    signet.clock.advance(2);
    for (const [audience, scope] of [
      ['https://mail.test', scopes.mail],
      [client_id, scopes.own],
    ] as const) {
      const verify = createVerifier({ issuer: signet.url, audience, now: signet.clock });
      const first = await user.obtainTokens(client, { scope });
      const second = tokensOf(await client.refresh(first.refresh_token));
      for (const { access_token } of [first, second]) {
        await verify(access_token);
        assert.equal(await bitOf(access_token), 0);
      }
      await revoke(client, first.access_token);
      signet.clock.advance(60);
      await refusal(verify(first.access_token), 'invalid_token', /revoked/);
      await verify(second.access_token);
      await revoke(client, second.refresh_token);
      signet.clock.advance(60);
      await refusal(verify(second.access_token), 'invalid_token', /revoked/);
    }
    // Of no other client.
    const other = await newClient({ allowed_scopes });
    assert.equal(statusOf((await user.obtainTokens(other, { scope: scopes.mail })).access_token), undefined);
  },
);

testSignet('an index says nothing: each token has another one, anywhere in its list', async ({ signet }) => {
  const { newClient } = await withStatus(signet);
  const client = await newClient();
  const user = await signet.signedInUser();
  const found: number[] = [];
  let { refresh_token, access_token } = await user.obtainTokens(client, { scope });
  for (let refreshes = 0; refreshes < 30; refreshes += 1) {
    found.push(statusOf(access_token)!.idx);
    ({ refresh_token, access_token } = tokensOf(await client.refresh(refresh_token)));
  }
  assert.equal(new Set(found).size, found.length);
  assert.ok(found.every((idx) => Number.isInteger(idx) && idx >= 0 && idx < 2 ** 20));
  // By chance one of 30 indexes in order, or all within a sixteenth of the list, once in 10^30 runs.
  const sorted = found.toSorted((one, another) => one - another);
  assert.notDeepEqual(found, sorted);
  assert.ok(sorted.at(-1)! - sorted[0]! > 2 ** 16);
});

testSignet('a list may be kept for 15 seconds, and one that was never begun is not there', async ({ signet }) => {
  const { newClient } = await withStatus(signet);
  const client = await newClient();
  const user = await signet.signedInUser();
  const { access_token, refresh_token } = await user.obtainTokens(client, { scope });
  const { uri } = statusOf(access_token)!;
  const first = await fetch(uri);
  assert.equal(first.headers.get('cache-control'), 'public, max-age=15');
  assert.equal(first.headers.get('content-type'), 'application/statuslist+jwt');
  const etag = first.headers.get('etag') ?? '';
  const list = await first.text();
  const { ttl, iat, exp } = claimsOf(list) as unknown as { ttl: number; iat: number; exp: number };
  assert.deepEqual([ttl, exp - iat], [15, 600]);
  assert.ok(list.length < 1000, `${list.length} bytes of a list without a revocation`);
  signet.clock.advance(30);
  const same = await fetch(uri, { headers: { 'if-none-match': etag } });
  assert.deepEqual([same.status, await same.text()], [304, '']);
  const head = await fetch(uri, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  for (const { headers } of [same, head]) {
    assert.deepEqual([headers.get('etag'), headers.get('cache-control')], [etag, 'public, max-age=15']);
  }
  await revoke(client, refresh_token);
  signet.clock.advance(30);
  assert.equal((await fetch(uri, { headers: { 'if-none-match': etag } })).status, 200);

  for (const wrong of [
    `${uri}A`,
    uri.slice(0, -1),
    `${uri.slice(0, -2)}${uri.endsWith('AA') ? 'BB' : 'AA'}`,
    `${signet.url}/oauth/status-lists/e`,
  ])
    assert.equal((await fetch(wrong)).status, 404, wrong);
  signet.clock.advance(24 * 3600);
  assert.equal((await fetch(uri)).status, 404, 'when all of its tokens have expired');
});

testSignet(
  'while the list is away, a verifier goes on with the last one, then refuses or accepts as it is told',
  async ({ signet }) => {
    const { newClient } = await withStatus(signet);
    const client = await newClient();
    const user = await signet.signedInUser();
    const { access_token, refresh_token } = await user.obtainTokens(client, { scope });
    let isAway = false;
    const verifierOf = (statusList: Parameters<typeof createVerifier>[0]['statusList']) =>
      createVerifier({
        issuer: signet.url,
        audience: identifier,
        now: signet.clock,
        statusList,
        fetch: (input, init) =>
          isAway && String(input).includes('/status-lists/') ? Promise.reject(new Error('away')) : fetch(input, init),
      });
    const [refusing, accepting, ignoring] = [
      verifierOf({}),
      verifierOf({ whenUnavailable: 'accept' }),
      verifierOf(false),
    ];
    for (const verify of [refusing, accepting, ignoring]) await verify(access_token);
    isAway = true;
    await revoke(client, refresh_token);
    signet.clock.advance(70);
    for (const verify of [refusing, accepting, ignoring]) await verify(access_token);
    signet.clock.advance(11);
    await refusal(refusing(access_token), 'unavailable');
    await accepting(access_token);
    await refusing(access_token, { introspect: false });
    isAway = false;
    signet.clock.advance(5);
    for (const verify of [refusing, accepting]) await refusal(verify(access_token), 'invalid_token', /revoked/);
    await ignoring(access_token);
  },
);

testSignet(
  'a list of another type, address, key or size is none, and its token is not accepted',
  async ({ signet }) => {
    const { newClient } = await withStatus(signet);
    const client = await newClient();
    const user = await signet.signedInUser();
    const { access_token } = await user.obtainTokens(client, { scope });
    const { uri } = statusOf(access_token)!;
    const other = statusOf(
      (await user.obtainTokens(await newClient({ id_token_signed_response_alg: 'RS256' }), { scope })).access_token,
    )!;
    const at = Math.floor(signet.clock() / 1000);
    const list = (claims: object) => ({
      iss: signet.url,
      sub: uri,
      iat: at,
      exp: at + 60,
      status_list: { bits: 1, lst: lstOf(2 ** 17) },
      ...claims,
    });
    const lstOf = (bytes: number) => deflateSync(Buffer.alloc(bytes)).toString('base64url');
    const sign = (claims: Record<string, unknown>, typ: 'statuslist+jwt' | 'logout+jwt' = 'statuslist+jwt') =>
      signet.deps.keys.sign('EdDSA', typ, claims);
    const bodies: [string, string, string | undefined][] = [
      ['its own', await sign(list({})), undefined],
      ['of another type', await sign(list({}), 'logout+jwt'), 'unavailable'],
      ['of another address', await (await fetch(other.uri)).text(), 'unavailable'],
      ['expired', await sign(list({ exp: at - 60 })), 'unavailable'],
      ['changed', `${(await sign(list({}))).slice(0, -8)}AAAAAAAA`, 'unavailable'],
      ['without a list', await sign(list({ status_list: undefined })), 'unavailable'],
      ['not compressed', await sign(list({ status_list: { bits: 1, lst: 'AAAA' } })), 'unavailable'],
      [
        'that grows beyond all bounds',
        await sign(list({ status_list: { bits: 1, lst: lstOf(2 ** 23) } })),
        'unavailable',
      ],
      ['of another issuer', await sign(list({ iss: 'https://other.test' })), 'unavailable'],
      [
        'with a size that is a text',
        await sign(list({ status_list: { bits: '1', lst: lstOf(2 ** 17) } })),
        'unavailable',
      ],
      ['with a size that is none', await sign(list({ status_list: { bits: 3, lst: lstOf(2 ** 17) } })), 'unavailable'],
      ['with a ttl that is a text', await sign(list({ ttl: '15' })), 'unavailable'],
      ['with a ttl that is over', await sign(list({ ttl: 0 })), 'unavailable'],
      [
        'with something behind it',
        await sign(list({ status_list: { bits: 1, lst: `${lstOf(2 ** 17)}AAAA` } })),
        'unavailable',
      ],
      ['that ends before the index', await sign(list({ status_list: { bits: 1, lst: lstOf(0) } })), 'invalid_token'],
      ['no JWT', '{}', 'unavailable'],
    ];
    for (const [name, body, refused] of bodies) {
      const verify = createVerifier({
        issuer: signet.url,
        audience: identifier,
        now: signet.clock,
        fetch: async (input, init) => (String(input) === uri ? new Response(body) : fetch(input, init)),
      });
      if (refused) await assert.rejects(verify(access_token), { code: refused }, name);
      else await verify(access_token);
    }
  },
);
