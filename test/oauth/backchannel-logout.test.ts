import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import type { TestContext } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { suspendClient } from '../../src/clients/review-client.ts';
import { logoutEvent } from '../../src/oauth/logout/logout-sender.ts';
import { finishDeletions } from '../support/deletions.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, claimsOf, type RegisteredClient, type Tokens } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', SIGNET_RATE_LIMITS: 'off' };
const returnUri = 'https://rp.test/post_logout_redirect';

const tokenIn = ({ body }: { body: string }) => new URLSearchParams(body).get('logout_token') ?? '';
const headerOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
const sidOf = ({ id_token }: Tokens) => String(claimsOf(id_token).sid);

/** Two clients that want to be notified, one that does not, and one that no user of these tests signs in to. */
async function openScene(signet: Signet, t: TestContext) {
  const receiver = await openReceiver(t);
  const owner = await signet.signedInUser();
  const register = (path: string | undefined) =>
    signet.registerClient({
      owner,
      post_logout_redirect_uris: [returnUri],
      backchannel_logout_uri: path && receiver.url.replace('/hook', path),
    });
  const [one, two, silent, absent] = [
    await register('/one'),
    await register('/two'),
    await register(undefined),
    await register('/absent'),
  ];
  const names = new Map([
    [one.client_id, 'one'],
    [two.client_id, 'two'],
    [absent.client_id, 'absent'],
  ]);
  return { signet, receiver, owner, one, two, silent, absent, names };
}
type Scene = Awaited<ReturnType<typeof openScene>>;

async function signIn({ signet, one, two, silent }: Scene, scope = 'openid offline_access') {
  const user = await signet.signedInUser();
  const tokens = await user.obtainTokens(one, { scope });
  await user.obtainTokens(two, { scope });
  await user.obtainTokens(silent, { scope });
  return { user, tokens };
}

/** Delivers what is due, and says who was notified of which session since the last call. */
async function notified({ signet, receiver, names }: Scene): Promise<string[]> {
  await signet.runJobs();
  await runJobs(signet.deps, ['deliver logout tokens']);
  const claims = receiver.deliveries.splice(0).map((delivery) => claimsOf(tokenIn(delivery)));
  return claims.map(({ aud, sid }) => `${names.get(String(aud))} ${sid}`).toSorted();
}

/** Some of more grants than two statements may touch. @returns of how many sessions they are. */
async function copyGrants({ deps }: Signet, { user_id }: TestUser, { client_id }: RegisteredClient): Promise<number> {
  const [copies, ofOneSession] = [1200, 3];
  await plain(deps.db).run(
    `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${copies - 1})
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                         code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr,
                         created_at, session_token_hash, client_epoch, user_epoch)
     select 'gr_copy' || i, client_id, user_id, 'ses_copy' || (i / ${ofOneSession}), scope, redirect_uri, 'copy' || i,
            code_challenge, code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr,
            created_at, session_token_hash, client_epoch, user_epoch
       from n cross join grants where user_id = $1 and client_id = $2 and i >= 0`,
    [user_id, client_id],
  );
  return copies / ofOneSession;
}

const both = (sid: string) => [`one ${sid}`, `two ${sid}`];

type End = {
  end(scene: Scene, given: { user: TestUser; tokens: Tokens; sid: string }): Promise<unknown>;
  tells?: (sid: string) => string[];
  scope?: string;
};

const caller = { actor: 'cli' } as const;
const onlyOne = (sid: string) => [`one ${sid}`];

const ends: Record<string, End> = {
  'a sign-out': { end: (_, { user }) => user.browser.post('/signout') },
  'oidcc-backchannel-rp-initiated-logout': {
    async end(_, { user, tokens }) {
      const fields = { id_token_hint: tokens.id_token, post_logout_redirect_uri: returnUri };
      const answer = await user.browser.get(`/oauth/logout?${new URLSearchParams(fields)}`);
      assert.equal(answer.location, returnUri);
    },
  },
  'a sign-in as another user': { end: ({ owner }, { user }) => owner.with({ browser: user.browser }).signIn() },
  'a session ended from another one': {
    async end(_, { user, sid }) {
      const other = await user.signedInElsewhere();
      assert.equal((await other.browser.delete(`/v1/me/sessions/${sid}`)).status, 204);
    },
  },
  'a sign-out everywhere else': {
    async end(_, { user }) {
      assert.equal((await (await user.signedInElsewhere()).browser.delete('/v1/me/sessions')).status, 200);
    },
  },
  'a session ended by an administrator': {
    async end({ signet }, { user, sid }) {
      const { browser } = await signet.signedInUser({ role: 'admin' });
      assert.equal((await browser.delete(`/v1/admin/users/${user.user_id}/sessions/${sid}`)).status, 204);
    },
  },
  'a user signed out by an administrator': {
    async end({ signet }, { user }) {
      const { browser } = await signet.signedInUser({ role: 'admin' });
      assert.ok((await browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, {})).status < 300);
    },
  },
  'a user disabled': {
    async end({ signet }, { user }) {
      const { browser } = await signet.signedInUser({ role: 'admin' });
      const answer = await browser.postJson(`/v1/admin/users/${user.user_id}/disable`, { reason: 'test' });
      assert.ok(answer.status < 300, answer.text);
    },
  },
  'a password changed': {
    async end(_, { user }) {
      const answer = await user.browser.postJson('/v1/me/password', { password: 'harbour velvet cactus' });
      assert.equal(answer.status, 204, answer.text);
    },
  },
  'an account deleted': {
    async end(_, { user }) {
      const answer = await user.browser.post('/account/delete', { email: user.email });
      assert.equal(answer.location, '/account-deleted', answer.text);
    },
  },
  'an app disconnected by its user': {
    async end({ one }, { user }) {
      const answer = await user.browser.post('/account/apps/disconnect', { client_id: one.client_id });
      assert.equal(answer.status, 303, answer.text);
    },
    tells: onlyOne,
  },
  'a grant revoked by an administrator': {
    async end({ signet, one }, { user }) {
      const [row] = await plain(signet.deps.db).all<{ grant_id: string }>(
        'select grant_id from grants where user_id = $1 and client_id = $2',
        [user.user_id, one.client_id],
      );
      const { browser } = await signet.signedInUser({ role: 'admin' });
      assert.equal((await browser.delete(`/v1/admin/grants/${row!.grant_id}`)).status, 204);
    },
    tells: onlyOne,
  },
  'a refresh token replayed': {
    async end({ one }, { tokens }) {
      assert.equal((await one.refresh(tokens.refresh_token)).status, 200);
      assertRefused(await one.refresh(tokens.refresh_token), 400, 'invalid_grant');
    },
    tells: onlyOne,
  },
  'a code replayed': {
    async end({ one }, { user }) {
      const code = await user.authorize(one);
      assert.equal((await one.redeem(code)).status, 200);
      assertRefused(await one.redeem(code), 400, 'invalid_grant');
    },
    tells: onlyOne,
  },
  'a refresh token revoked by its client': {
    end: ({ one }, { tokens }) => one.post('/oauth/revoke', { token: tokens.refresh_token }),
    tells: onlyOne,
  },
  'an expired refresh token used': {
    async end({ signet, one }, { tokens }) {
      signet.clock.advance(31 * 86_400);
      assertRefused(await one.refresh(tokens.refresh_token), 400, 'invalid_grant');
    },
  },
  'refresh tokens expired': { end: async ({ signet }) => signet.clock.advance(31 * 86_400) },
  'a session expired, without offline_access': {
    scope: 'openid',
    async end(scene, { user, sid }) {
      const ofThis = async () => (await notified(scene)).filter((one) => one.endsWith(sid));
      scene.signet.clock.advance(2 * 86_400); // the access tokens have long expired, and the session goes on
      assert.deepEqual(await ofThis(), []);
      await user.browser.get('/account');
      scene.signet.clock.advance(2 * 86_400);
      assert.deepEqual(await ofThis(), []);
      scene.signet.clock.advance(2 * 86_400);
    },
  },
};

testSignet(
  'Back-Channel Logout: each end notifies the clients that took part, once',
  { env },
  async ({ signet, t }) => {
    const scene = await openScene(signet, t);
    for (const [name, { end, tells = both, scope }] of Object.entries(ends)) {
      await t.test(name, async () => {
        await notified(scene);
        const { user, tokens } = await signIn(scene, scope);
        const sid = sidOf(tokens);
        const bystander = sidOf((await signIn(scene, scope)).tokens);
        await end(scene, { user, tokens, sid });
        const received = await notified(scene);
        assert.deepEqual(
          received.filter((one) => one.endsWith(sid)),
          tells(sid),
        );
        if (!/expired/.test(name)) assert.deepEqual(received, tells(sid), `no other session, such as ${bystander}`);
        assert.deepEqual(await notified(scene), [], 'once');
      });
    }

    await t.test('a surplus session keeps its grants, and no client is notified', async () => {
      await notified(scene);
      const { tokens } = await signIn(scene);
      await plain(signet.deps.db).run(
        `update sessions set ended_at = 1, end_reason = 'surplus' where session_id = $1`,
        [sidOf(tokens)],
      );
      assert.deepEqual(await notified(scene), []);
      assert.equal((await scene.one.refresh(tokens.refresh_token)).status, 200);
    });

    await t.test('a test from the console notifies no client, and a client that did take part only once', async () => {
      await notified(scene);
      const owner = await scene.owner.signedInElsewhere();
      const { browser } = owner;
      const runTest = async () => {
        const begun = await browser.post(`/developer/clients/${scene.one.client_id}/test`);
        const shown = await browser.get((await browser.get(begun.location)).location);
        assert.match(shown.text, sentence('developer.test.passed'));
      };
      await runTest();
      assert.deepEqual(await notified(scene), []);
      const sid = sidOf(await owner.obtainTokens(scene.one));
      await runTest();
      assert.deepEqual(await notified(scene), []);
      await browser.post('/signout');
      assert.deepEqual(await notified(scene), onlyOne(sid));
    });

    await t.test('a suspended client is notified of all its sessions, and no other client', async () => {
      await notified(scene);
      const [first, second] = [await signIn(scene), await signIn(scene)];
      await suspendClient(signet.deps, { client_id: scene.two.client_id, caller }, 'test');
      const received = await notified(scene);
      for (const { tokens } of [first, second]) assert.ok(received.includes(`two ${sidOf(tokens)}`));
      assert.ok(received.every((one) => one.startsWith('two ')));
    });
  },
);

testSignet('Back-Channel Logout: deliveries', { env }, async ({ signet, t }) => {
  const scene = await openScene(signet, t);
  const { receiver, one } = scene;
  const deliver = () => runJobs(signet.deps, ['deliver logout tokens']);

  await t.test('oidcc-backchannel-logout-discovery-endpoint-verification', async () => {
    const answer = await fetch(`${signet.url}/.well-known/openid-configuration`);
    const document = (await answer.json()) as Record<string, unknown>;
    assert.equal(document.backchannel_logout_supported, true);
    assert.equal(document.backchannel_logout_session_supported, true);
    assert.equal(document.frontchannel_logout_supported, undefined);
  });

  await t.test('a logout token is what §2.4 says, and neither an id token hint nor an access token', async () => {
    const rs256 = await signet.registerClient({
      backchannel_logout_uri: receiver.url,
      id_token_signed_response_alg: 'RS256',
    });
    const user = await signet.signedInUser();
    const tokens = await user.obtainTokens(one);
    await user.obtainTokens(rs256);
    await user.browser.post('/signout');
    await deliver();
    const keySet = (await (await fetch(`${signet.url}/.well-known/jwks.json`)).json()) as { keys: JsonWebKey[] };
    for (const client of [one, rs256]) {
      const received = receiver.deliveries.find((each) => claimsOf(tokenIn(each)).aud === client.client_id)!;
      assert.equal(received.headers['content-type'], 'application/x-www-form-urlencoded');
      const token = tokenIn(received);
      const { kid, alg, typ } = headerOf(token);
      assert.deepEqual([alg, typ], [client === one ? 'EdDSA' : 'RS256', 'logout+jwt']);
      const jwk = keySet.keys.find((key) => (key as { kid?: string }).kid === kid)!;
      const [header, payload, signature = ''] = token.split('.');
      const key = createPublicKey({ key: jwk as never, format: 'jwk' });
      const digest = alg === 'EdDSA' ? null : 'sha256';
      assert.ok(verify(digest, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')));
      const { jti, ...claims } = claimsOf(token);
      const at = Math.floor(signet.clock() / 1000);
      assert.deepEqual(claims, {
        iss: signet.url,
        sub: user.user_id,
        aud: client.client_id,
        iat: at,
        exp: at + 120,
        sid: sidOf(tokens),
        events: { [logoutEvent]: {} },
      });
      assert.match(String(jti), /^lo_/);
      const returnPath = (id_token_hint: string) =>
        `/oauth/logout?${new URLSearchParams({ id_token_hint, post_logout_redirect_uri: returnUri })}`;
      assert.equal((await user.browser.get(returnPath(tokens.id_token))).location, returnUri);
      assert.equal((await user.browser.get(returnPath(token))).location, '/signed-out', 'it is not a hint');
      assertRefused(await signet.userinfo(token), 401, 'invalid_token');
    }
    receiver.deliveries.splice(0);
  });

  await t.test('a failed one is retried under the same jti, freshly signed; a refused one is not', async () => {
    const { user } = await signIn(scene);
    await user.browser.post('/signout');
    receiver.status = 503;
    await deliver();
    const first = receiver.deliveries.splice(0).map((each) => claimsOf(tokenIn(each)));
    assert.equal(first.length, 2);
    await deliver();
    assert.equal(receiver.deliveries.length, 0, 'not before its time');
    signet.clock.advance(6);
    receiver.status = 200;
    await deliver();
    const second = receiver.deliveries.splice(0).map((each) => claimsOf(tokenIn(each)));
    assert.deepEqual(new Set(second.map(({ jti }) => jti)), new Set(first.map(({ jti }) => jti)));
    assert.ok(second.every(({ iat }) => Number(iat) === Number(first[0]!.iat) + 6));

    for (const status of [400, 410]) {
      const other = await signIn(scene);
      await other.user.browser.post('/signout');
      receiver.status = status;
      await deliver();
      assert.equal(receiver.deliveries.splice(0).length, 2);
      receiver.status = 200;
      signet.clock.advance(5 * 86_400);
      await deliver();
      assert.equal(receiver.deliveries.length, 0, String(status));
    }
  });

  await t.test('its owner sees each delivery and resends a refused one; no other user does', async () => {
    await notified(scene);
    const { user, tokens } = await signIn(scene);
    await user.browser.post('/signout');
    receiver.status = 400;
    await deliver();
    receiver.deliveries.splice(0);
    receiver.status = 200;
    const path = `/v1/oauth/clients/${one.client_id}/logout-deliveries`;
    const { browser } = await scene.owner.signedInElsewhere();
    const listed = (await browser.get(`${path}?state=dead&limit=1`)).json as { deliveries: Record<string, unknown>[] };
    const [{ delivery_id, created_at, dead_at, ...dead } = {}] = listed.deliveries;
    assert.deepEqual(dead, {
      sub: user.user_id,
      sid: sidOf(tokens),
      state: 'dead',
      attempts: 1,
      next_attempt_at: null,
      last_error: 'The receiver responded with 400.',
      delivered_at: null,
    });
    const page = await browser.get(`/developer/clients/${one.client_id}/activity`);
    assert.ok(page.text.includes(String(delivery_id)));
    const stranger = await signet.signedInUser();
    assert.equal((await stranger.browser.get(path)).status, 404);
    assert.equal((await stranger.browser.postEmpty(`${path}/${delivery_id}/retry`)).status, 404);
    assert.equal((await browser.postEmpty(`${path}/lo_unknown/retry`)).status, 404);
    const form = { delivery_id: String(delivery_id) };
    const resent = await browser.post(`/developer/clients/${one.client_id}/logout-deliveries/retry`, form);
    assert.equal(resent.location, `/developer/clients/${one.client_id}/activity?done=resent`);
    await deliver();
    assert.deepEqual(
      receiver.deliveries.splice(0).map((each) => claimsOf(tokenIn(each)).jti),
      [delivery_id],
    );
    assertRefused(await browser.postEmpty(`${path}/${delivery_id}/retry`), 409, 'invalid_state');
    assert.equal((await signet.auditLog({ action: 'logout.replayed', target: String(delivery_id) })).length, 1);
  });

  await t.test('a redirect is not followed, and retries end after days', async () => {
    await notified(scene);
    const { user } = await signIn(scene);
    await user.browser.post('/signout');
    receiver.status = 302;
    receiver.location = receiver.url.replace('/hook', '/elsewhere');
    let attempts = 0;
    for (let round = 0; round < 14; round += 1) {
      await deliver();
      attempts += receiver.deliveries.filter(({ path }) => path === '/one').length;
      assert.ok(receiver.deliveries.splice(0).every(({ path }) => path !== '/elsewhere'));
      signet.clock.advance(86_401);
    }
    assert.equal(attempts, 11);
    receiver.status = 204;
    receiver.location = undefined;
  });

  await t.test('a receiver without an answer delays no other', async () => {
    const slow = await openReceiver(t);
    slow.holds = true;
    const stuck = await signet.registerClient({ backchannel_logout_uri: slow.url });
    const { user } = await signIn(scene);
    await user.obtainTokens(stuck);
    await user.browser.post('/signout');
    const all = deliver();
    await until('both are told', () => receiver.deliveries.length === 2);
    assert.equal(receiver.deliveries.splice(0).length, 2);
    await all;
  });

  await t.test('what was not sent is sent by another node', async (t) => {
    const { user, tokens } = await signIn(scene);
    await user.browser.post('/signout');
    const beside = await startSignet(t, { beside: signet, env });
    await Promise.all([signet, beside, signet, beside].map(({ deps }) => runJobs(deps, ['deliver logout tokens'])));
    const sids = receiver.deliveries.splice(0).map((each) => claimsOf(tokenIn(each)).sid);
    assert.deepEqual(sids, [sidOf(tokens), sidOf(tokens)]);
  });

  await t.test('twenty sign-outs at once make one delivery for each client', async () => {
    const { user, tokens } = await signIn(scene);
    const cookie = [...user.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const fields = { id_token_hint: tokens.id_token, post_logout_redirect_uri: returnUri };
    const path = `/oauth/logout?${new URLSearchParams(fields)}`;
    await Promise.all(Array.from({ length: 20 }, () => user.browser.get(path, { cookie })));
    assert.deepEqual(await notified(scene), both(sidOf(tokens)));
  });

  await t.test('a code that was never redeemed, and a request that another site makes, notify no client', async () => {
    const { user, tokens } = await signIn(scene);
    await user.authorize(scene.absent);
    await user.browser.post('/signout', {}, { origin: 'https://evil.test' });
    await user.browser.get('/oauth/logout', { 'sec-fetch-site': 'cross-site' });
    assert.deepEqual(await notified(scene), []);
    await user.browser.post('/signout');
    assert.deepEqual(await notified(scene), both(sidOf(tokens)));
  });

  await t.test('more sessions than one statement may touch are all notified, once each', async () => {
    const { tokens, user } = await signIn(scene);
    const sessions = await copyGrants(signet, user, one);
    const { browser } = await signet.signedInUser({ role: 'admin' });
    await browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, {});
    const received: string[] = [];
    for (let round = 0; round < 4; round += 1) received.push(...(await notified(scene)));
    assert.equal(new Set(received).size, received.length, 'once');
    assert.equal(received.length, 2 + sessions);
    assert.ok(received.includes(`one ${sidOf(tokens)}`));
  });
});

testSignet(
  'Back-Channel Logout: a deleted client is notified of its sessions, and then gone',
  { env },
  async (given) => {
    const { signet, t } = given;
    const scene = await openScene(signet, t);
    const { receiver, owner, one, two, names } = scene;
    const administrator = await signet.signedInUser({ role: 'admin' });
    const rowsOf = async ({ client_id }: RegisteredClient) =>
      Number(
        (await plain(signet.deps.db).get<{ n: number }>('select count(*) as n from clients where client_id = $1', [
          client_id,
        ]))!.n,
      );
    const remove = async ({ client_id }: RegisteredClient) =>
      assert.equal((await administrator.browser.delete(`/v1/admin/clients/${client_id}`)).status, 204);
    const anotherClient = async () => {
      await owner.signIn();
      const client = await signet.registerClient({
        owner,
        backchannel_logout_uri: receiver.url.replace('/hook', '/one'),
      });
      names.set(client.client_id, 'another');
      return client;
    };

    await t.test('by its owner, at once and once', async () => {
      const [first, second] = [await signIn(scene), await signIn(scene)];
      await owner.signIn();
      assert.equal((await owner.browser.delete(`/v1/oauth/clients/${one.client_id}`)).status, 204);
      assert.equal((await owner.browser.get(`/v1/oauth/clients/${one.client_id}`)).status, 404);
      assertRefused(await signet.userinfo(first.tokens.access_token), 401, 'invalid_token');
      await runJobs(signet.deps, ['deliver logout tokens']);
      const received = receiver.deliveries.splice(0).map((each) => claimsOf(tokenIn(each)));
      assert.deepEqual(
        received.map(({ aud, sid }) => [aud, sid]).toSorted(),
        [first, second].map(({ tokens }) => [one.client_id, sidOf(tokens)]).toSorted(),
      );
      assert.deepEqual(await notified(scene), []);
      assert.equal(await rowsOf(one), 0);
      await first.user.browser.post('/signout');
      assert.deepEqual(await notified(scene), [`two ${sidOf(first.tokens)}`], 'the other client of that session');
    });

    await t.test('also of what was waiting when it was deleted, until the retries end', async () => {
      const client = await anotherClient();
      const user = await signet.signedInUser();
      await user.obtainTokens(client);
      const staying = await signet.signedInUser();
      await staying.obtainTokens(client);
      receiver.status = 503;
      await user.browser.post('/signout');
      assert.equal((await notified(scene)).length, 1);
      await remove(client);
      assert.equal((await notified(scene)).length, 1, 'of the other session');
      for (const path of ['', '/logout-deliveries'])
        assert.equal((await administrator.browser.get(`/v1/admin/clients/${client.client_id}${path}`)).status, 404);
      signet.clock.advance(6);
      assert.equal((await notified(scene)).length, 2, 'both again');
      assert.equal(await rowsOf(client), 1);
      let rounds = 0;
      for (; (await rowsOf(client)) > 0; rounds += 1) {
        assert.ok(rounds < 14, 'a receiver that never accepts keeps the row of its client for days, and no longer');
        signet.clock.advance(86_401);
        await notified(scene);
        await signet.runJobs();
      }
      assert.ok(rounds > 7, `${rounds} rounds`);
      receiver.status = 204;
      assert.deepEqual(await notified(scene), []);
    });

    await t.test('of more sessions than one statement may touch', async () => {
      const client = await anotherClient();
      const user = await signet.signedInUser();
      await user.obtainTokens(client);
      const sessions = await copyGrants(signet, user, client);
      await administrator.signIn();
      await remove(client);
      const received: string[] = [];
      for (let round = 0; round < 3; round += 1) received.push(...(await notified(scene)));
      assert.deepEqual([received.length, new Set(received).size], [sessions + 1, sessions + 1]);
      signet.clock.advance(601);
      assert.deepEqual(await notified(scene), []);
      assert.equal(await rowsOf(client), 0);
    });

    await t.test('one without an address, or without sessions, is gone at once', async () => {
      await administrator.signIn();
      for (const client of [scene.silent, scene.absent]) {
        await remove(client);
        await finishDeletions(signet.deps);
        assert.equal(await rowsOf(client), 0);
      }
      assert.deepEqual(await notified(scene), []);
      assert.equal(await rowsOf(two), 1);
    });
  },
);

const limited = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', SIGNET_LIMIT_LOGOUT_RESENDS_PER_HOUR: '2' };

testSignet('Back-Channel Logout: an owner resends so many an hour', { env: limited }, async ({ signet, t }) => {
  const scene = await openScene(signet, t);
  const { one, owner, receiver } = scene;
  const { tokens } = await signIn(scene);
  receiver.status = 400;
  const refuseOnce = () => runJobs(signet.deps, ['deliver logout tokens']);
  await one.post('/oauth/revoke', { token: tokens.refresh_token });
  await refuseOnce();
  const path = `clients/${one.client_id}/logout-deliveries`;
  const { deliveries } = (await owner.browser.get(`/v1/oauth/${path}`)).json as {
    deliveries: { delivery_id: string }[];
  };
  const { delivery_id = '' } = deliveries[0] ?? {};
  const resend = (browser = owner.browser, area = 'oauth') =>
    browser.postEmpty(`/v1/${area}/${path}/${delivery_id}/retry`);
  for (let resent = 0; resent < 2; resent += 1) {
    assert.equal((await resend()).status, 200);
    await refuseOnce();
  }
  assertRefused(await resend(), 429, 'rate_limited');
  const page = await owner.browser.post(`/developer/${path}/retry`, { delivery_id });
  assert.equal(page.status, 429);
  assert.match(page.text, /id="logouts"/, 'on the page of the form');
  assert.equal((await signet.auditLog({ action: 'logout.replayed' })).length, 2);
  const admin = await signet.signedInUser({ role: 'admin' });
  assert.equal((await resend(admin.browser, 'admin')).status, 200, 'an administrator may');
  await refuseOnce();
  signet.clock.advance(3600);
  assert.equal((await resend()).status, 200);
});

testSignet('Back-Channel Logout: an internal address receives nothing unless it is allowed', async ({ signet, t }) => {
  const receiver = await openReceiver(t);
  const client: RegisteredClient = await signet.registerClient({ backchannel_logout_uri: receiver.url });
  const user: TestUser = await signet.signedInUser();
  await user.obtainTokens(client);
  await user.browser.post('/signout');
  await signet.runJobs();
  assert.equal(receiver.deliveries.length, 0);
  const [row] = await plain(signet.deps.db).all<{ last_error: string }>('select last_error from logout_deliveries');
  assert.match(row!.last_error, /SIGNET_WEBHOOK_INTERNAL must list every address/);
});
