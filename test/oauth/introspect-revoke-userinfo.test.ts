import assert from 'node:assert/strict';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { reinstateClient, suspendClient } from '../../src/clients/review-client.ts';
import { readAnswer } from '../support/browser.ts';
import { plain } from '../support/plain-sql.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import {
  assertRefused,
  basic,
  claimsOf,
  type RegisteredClient,
  type Tokens,
  tokensOf,
} from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** Of the answer to a request without a token. */
const challenge = 'Bearer, DPoP algs="ES256 PS256 EdDSA Ed25519"';

const allScopes = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'];
const inactive = '{"active":false}';
const revoke = (client: RegisteredClient, token: string, more: Record<string, string> = {}) =>
  client.post('/oauth/revoke', { token, ...more });

testSignet('userinfo, introspection and revocation', async ({ signet, t }) => {
  const client = await signet.registerClient({ allowed_scopes: allScopes });
  const other = await signet.registerClient();
  const publicClient = await signet.registerClient({ client_type: 'public' });
  const user = await signet.signedInUser();
  const tokens = await user.obtainTokens(client);
  const path = '/oauth/userinfo';

  await t.test('UI-01: no credentials get a bare challenge, bad ones hear what is wrong', async () => {
    const bare = await readAnswer(await fetch(signet.url + path));
    assertRefused(bare, 401, 'invalid_token');
    assert.equal(bare.headers.get('www-authenticate'), challenge);
    assert.match(bare.headers.get('content-type') ?? '', /charset=utf-8/);
    for (const authorization of ['Bearer', 'Bearer ', 'Bearer nonsense', 'Bearer a b', 'Bearer "x"']) {
      const answer = await readAnswer(await fetch(signet.url + path, { headers: { authorization } }));
      assertRefused(answer, 401, 'invalid_token');
      const challenge = answer.headers.get('www-authenticate') ?? '';
      assert.match(challenge, /^Bearer error="invalid_token", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/);
    }
    // Credentials for a proxy on the way are none for us.
    for (const authorization of ['Basic eDp5', 'Digest username="x"', 'Bearers x', 'x']) {
      const answer = await readAnswer(await fetch(signet.url + path, { headers: { authorization } }));
      assertRefused(answer, 401, 'invalid_token');
      assert.equal(answer.headers.get('www-authenticate'), challenge);
      const { access_token } = tokens;
      assert.equal((await signet.postForm(path, { access_token }, { authorization })).status, 200);
    }
  });

  await t.test(
    'UI-02: a token in the URL is not read, two at once are refused, the scheme is written in any case',
    async () => {
      const { access_token } = tokens;
      const inUrl = await readAnswer(await fetch(`${signet.url}${path}?access_token=${access_token}`));
      assertRefused(inUrl, 401, 'invalid_token');
      assert.equal(inUrl.headers.get('www-authenticate'), challenge);
      const authorization = `Bearer ${access_token}`;
      const twice = await signet.postForm(path, { access_token }, { authorization });
      assertRefused(twice, 400, 'invalid_request');
      assert.match(twice.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_request"/);
      for (const scheme of ['bEaReR', 'BEARER', 'bearer']) {
        const answer = await fetch(signet.url + path, { headers: { authorization: `${scheme} ${access_token}` } });
        assert.equal(answer.status, 200);
      }
    },
  );

  await t.test(
    'UI-03, oidcc-userinfo-post-body: GET and POST say the same, about the subject of the id token, by scope',
    async () => {
      const answerFor = async (scope: string) => {
        const issued = await user.obtainTokens(client, { scope });
        const authorization = `Bearer ${issued.access_token}`;
        const got = await signet.userinfo(issued.access_token);
        const posted = await signet.postForm(path, {}, { authorization });
        const inForm = await signet.postForm(path, { access_token: issued.access_token });
        assert.equal(posted.text, got.text);
        assert.equal(inForm.text, got.text);
        assert.equal(got.headers.get('cache-control'), 'no-store');
        if (issued.id_token) assert.equal(got.json?.sub, claimsOf(issued.id_token).sub);
        return got;
      };
      assert.deepEqual((await answerFor('openid')).json, { sub: user.user_id });
      const email = { email: user.email, email_verified: true };
      assert.deepEqual((await answerFor('openid email')).json, { sub: user.user_id, ...email });
      const { name, updated_at, ...profile } = (await answerFor('openid profile')).json ?? {};
      assert.deepEqual(profile, { sub: user.user_id, role: 'user' });
      assert.match(String(name), /^Person /);
      assert.equal(updated_at, signet.clock() / 1000);
      const without = await answerFor('email profile');
      assertRefused(without, 403, 'insufficient_scope');
      assert.match(without.headers.get('www-authenticate') ?? '', /^Bearer error="insufficient_scope".*scope="openid"/);
    },
  );

  await t.test('UI-04: a cookie opens no Bearer endpoint, and a Bearer token no cookie endpoint', async () => {
    assertRefused(await user.browser.get(path), 401, 'invalid_token');
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    for (const cookieOnly of ['/v1/me', '/v1/oauth/clients', `/v1/oauth/clients/${client.client_id}`]) {
      assertRefused(await readAnswer(await fetch(signet.url + cookieOnly, { headers })), 401, 'login_required');
    }
    const page = await fetch(`${signet.url}/account`, { headers, redirect: 'manual' });
    assert.match(page.headers.get('location') ?? '', /^\/signin/);
  });

  await t.test('IN-01: introspection requires authentication, by Basic and by POST', async () => {
    const token = tokens.access_token;
    const asking = (headers: Record<string, string>, fields = {}) =>
      signet.postForm('/oauth/introspect', { token, ...fields }, headers);
    const inBody = { client_id: client.client_id, client_secret: client.client_secret! };
    const answers = [
      await asking({}),
      await asking({}, inBody),
      await asking({}, { client_id: publicClient.client_id }),
      await asking({ authorization: basic(client.client_id, 'cs_wrong') }),
      await asking({ authorization: basic(publicClient.client_id, '') }),
      await asking({ authorization: `Bearer ${token}` }),
    ];
    for (const answer of answers) {
      assertRefused(answer, 401, 'invalid_client');
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /);
    }
    const got = await fetch(`${signet.url}/oauth/introspect?token=${token}`);
    assert.deepEqual([got.status, got.headers.get('allow')], [405, 'POST']);
    const inUrl = await fetch(`${signet.url}/oauth/introspect?token=${token}`, {
      method: 'POST',
      headers: { authorization: basic(client.client_id, client.client_secret!) },
    });
    assert.equal(inUrl.status, 400);
  });

  await t.test('IN-01: guesses at a secret on the introspection endpoint end in 429', async () => {
    const guesses = [];
    for (let tries = 0; tries < 21; tries += 1) {
      guesses.push(await other.with({ client_secret: `cs_${tries}` }).introspect(tokens.access_token));
    }
    assertRefused(guesses.at(-1)!, 429, 'rate_limited');
    assert.ok(guesses.at(-1)!.headers.get('retry-after'));
    signet.clock.advance(61);
  });

  await t.test('IN-02: an active token is described, and every other one gets the very same bytes', async () => {
    const { active, token_type, ...claims } = (await client.introspect(tokens.access_token)).json ?? {};
    assert.deepEqual([active, token_type], [true, 'Bearer']);
    assert.deepEqual(claims, claimsOf(tokens.access_token));
    assert.equal((await client.introspect(tokens.refresh_token)).json?.active, true);

    const revoked = await user.obtainTokens(client);
    await revoke(client, revoked.refresh_token);
    const expired = await user.obtainTokens(client, { scope: 'openid' });
    signet.clock.advance(3600);
    const foreign = await user.obtainTokens(other);
    const elsewhere = await startSignet(t);
    const stranger = await (await elsewhere.signedInUser()).obtainTokens(await elsewhere.registerClient());
    const dead = [
      'unknown',
      'rt_unknown',
      `rt_${'A'.repeat(70)}`,
      'é\u{1f511}',
      '\u0001',
      'x'.repeat(20_000),
      await user.authorize(client),
      ...[revoked, expired, foreign, stranger].map(({ access_token }) => access_token),
      ...[revoked, foreign, stranger].map(({ refresh_token }) => refresh_token),
      tokens.id_token,
    ];
    const seen = new Set<string>();
    for (const token of dead) {
      const answer = await client.introspect(token);
      assert.deepEqual([answer.status, answer.text], [200, inactive]);
      seen.add(JSON.stringify([...answer.headers].filter(([name]) => name !== 'date')));
    }
    assert.equal(seen.size, 1, [...seen].join('\n'));
  });

  await t.test(
    'RV-01: unknown tokens are fine, a refresh token takes its access tokens along, hints do not matter',
    async () => {
      for (const token of ['unknown', 'rt_x', 'a.b.c']) {
        const answer = await revoke(client, token);
        assert.deepEqual([answer.status, answer.text], [200, '']);
      }
      assertRefused(await client.post('/oauth/revoke', {}), 400, 'invalid_request');
      for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense']) {
        const first = await user.obtainTokens(client);
        const second = tokensOf(await client.refresh(first.refresh_token));
        assert.equal((await revoke(client, second.refresh_token, { token_type_hint })).status, 200);
        for (const { access_token } of [first, second]) {
          assertRefused(await signet.userinfo(access_token), 401, 'invalid_token');
        }
        assertRefused(await client.refresh(second.refresh_token), 400, 'invalid_grant');
      }
    },
  );

  await t.test('RV-01: revoking one access token leaves the rest of its grant alone', async () => {
    const first = await user.obtainTokens(client);
    const second = tokensOf(await client.refresh(first.refresh_token));
    await revoke(client, first.access_token, { token_type_hint: 'refresh_token' });
    assertRefused(await signet.userinfo(first.access_token), 401, 'invalid_token');
    assert.equal((await signet.userinfo(second.access_token)).status, 200);
    tokensOf(await client.refresh(second.refresh_token));
  });

  await t.test('RV-02: only its client revokes a token, and a confidential one proves that it is it', async () => {
    let mine: Tokens = await user.obtainTokens(client);
    const withoutSecret = client.with({ client_secret: null });
    const attempts: [RegisteredClient, Record<string, string>, number][] = [
      [other, {}, 200],
      [publicClient, { client_id: publicClient.client_id }, 200],
      [withoutSecret, {}, 401],
      [withoutSecret, { client_id: client.client_id }, 401],
      [client.with({ client_secret: 'cs_wrong' }), {}, 401],
      [withoutSecret, { client_id: client.client_id, client_secret: 'cs_wrong' }, 401],
    ];
    for (const [as, fields, status] of attempts) {
      for (const token of [mine.access_token, mine.refresh_token]) {
        assert.equal((await revoke(as, token, fields)).status, status);
      }
      assert.equal((await signet.userinfo(mine.access_token)).status, 200);
      mine = tokensOf(await client.refresh(mine.refresh_token));
    }
    const held = await user.obtainTokens(publicClient);
    assert.equal((await signet.postForm('/oauth/revoke', { token: held.refresh_token })).status, 200);
    assertRefused(await signet.userinfo(held.access_token), 401, 'invalid_token');
  });

  await t.test('IN-03: what ends a token ends it on every node within a second', async (t) => {
    const beside = await startSignet(t, { beside: signet });
    const onBoth = async (token: string) =>
      Promise.all([signet, beside].map(async (node) => (await client.at(node).introspect(token)).json?.active));
    const endings: Record<string, (issued: Tokens, owner: TestUser) => Promise<unknown>> = {
      'refresh token revoked': (issued) => revoke(client, issued.refresh_token),
      'access token revoked': (issued) => revoke(client, issued.access_token),
      'family ended by a replay': async (issued) => {
        await client.refresh(issued.refresh_token);
        await client.refresh(issued.refresh_token);
      },
      'signed out': (_issued, owner) => owner.browser.post('/signout'),
      'user disabled': (_issued, owner) => disableUser(signet.deps, { actor: 'cli' }, owner.user_id),
      'client suspended': async () => {
        const target = { client_id: client.client_id, caller: { actor: 'cli' } } as const;
        await suspendClient(signet.deps, target, 'test');
        signet.clock.advance(1);
        for (const node of [signet, beside]) assertRefused(await client.at(node).introspect('x'), 403, 'access_denied');
        await reinstateClient(signet.deps, target);
      },
      'key withdrawn': (issued) => {
        const { kid } = JSON.parse(Buffer.from(issued.access_token.split('.')[0]!, 'base64url').toString());
        return plain(signet.deps.db).run('delete from signing_keys where kid = $1', [kid]);
      },
    };
    for (const [how, end] of Object.entries(endings)) {
      const owner = await signet.signedInUser();
      const issued = await owner.obtainTokens(client);
      assert.deepEqual(await onBoth(issued.access_token), [true, true], how);
      await end(issued, owner);
      signet.clock.advance(1);
      assert.deepEqual(await onBoth(issued.access_token), [false, false], how);
      assertRefused(await beside.userinfo(issued.access_token), 401, 'invalid_token');
    }
  });
});

testSignet('RV-03: a revocation that the store cannot keep is 503 and never 200', async ({ signet }) => {
  const client = await signet.registerClient({ allowed_scopes: allScopes });
  const user = await signet.signedInUser();
  const tokens = await user.obtainTokens(client);
  const { databaseUrl } = signet.deps.config;
  if (databaseUrl) {
    const name = new URL(databaseUrl).pathname.slice(1);
    const elsewhere = new URL(databaseUrl);
    elsewhere.pathname = '/postgres';
    await asAdmin(elsewhere.href, (admin) => admin.query(`drop database ${name} with (force)`));
  } else await signet.deps.db.close();

  for (const answer of [
    await revoke(client, tokens.refresh_token),
    await revoke(client, tokens.access_token),
    await client.introspect(tokens.access_token),
    await client.refresh(tokens.refresh_token),
    await signet.userinfo(tokens.access_token),
  ]) {
    assertRefused(answer, 503, 'temporarily_unavailable');
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  }
  for (const path of ['openid-configuration', 'jwks.json']) {
    assert.equal((await fetch(`${signet.url}/.well-known/${path}`)).status, 200);
  }
});

testSignet('introspection by a client that authenticates and is not approved is 403', async ({ signet }) => {
  const client = await signet.registerClient({ approved: false });
  assert.equal((await client.introspect('any')).status, 403);
  assert.equal((await client.with({ client_secret: 'wrong' }).introspect('any')).status, 401);
});
