import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';
import { createVerifier } from '../../packages/verify/src/index.ts';
import { refusal } from '../../packages/verify/test/refusal.ts';
import { openStatusLists } from '../../src/oauth/status-lists/status-lists.ts';
import { now } from '../../src/platform/clock.ts';
import { newApi } from '../support/apis.ts';
import { plain } from '../support/plain-sql.ts';
import { claimsOf, type RegisteredClient, type Tokens, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const scope = 'openid offline_access files:read';
const identifier = 'https://files.test';
const reason = 'It was stolen.';
type Status = { status_list: { idx: number; uri: string } };

const statusOf = (token: string) => (claimsOf(token) as unknown as { status: Status }).status.status_list;

type Scene = {
  signet: Signet;
  admin: TestUser;
  owner: TestUser;
  client: RegisteredClient;
  user: TestUser;
  code: string;
  tokens: Tokens;
};
type Kind = {
  act: (scene: Scene) => Promise<{ status: number; text?: string } | undefined>;
  /** Of what it revokes many: rows beside those under test, which it does not write itself. */
  many?: 'of the user' | 'of the client';
  /** The status of the answer, where it is none of success. */
  answers?: number;
};

const grantOf = (token: string) => (claimsOf(token) as unknown as { jti: string }).jti.split('.')[0];
const sessionOf = (token: string) => (claimsOf(token) as unknown as { sid: string }).sid;
const byAdmin =
  (path: (scene: Scene) => string, body: object = { reason }) =>
  (scene: Scene) =>
    scene.admin.browser.postJson(`/v1/admin${path(scene)}`, body);

/** Everything that revokes a token before it expires. */
const kinds: Readonly<Record<string, Kind>> = {
  'the access token is revoked': {
    act: ({ client, tokens }) => client.post('/oauth/revoke', { token: tokens.access_token }),
  },
  'the refresh token is revoked': {
    act: ({ client, tokens }) => client.post('/oauth/revoke', { token: tokens.refresh_token }),
  },
  'the refresh token is used twice': {
    answers: 400,
    async act({ client, tokens }) {
      const next = tokensOf(await client.refresh(tokens.refresh_token));
      tokensOf(await client.refresh(next.refresh_token));
      return client.refresh(tokens.refresh_token);
    },
  },
  'the code is used twice': {
    answers: 400,
    async act({ client, code, tokens }) {
      tokensOf(await client.refresh(tokens.refresh_token));
      return client.redeem(code);
    },
  },
  'the user disconnects the app': {
    act: ({ user, client }) => user.browser.delete(`/v1/me/grants/${client.client_id}`),
    many: 'of the user',
  },
  'the user signs out': { act: ({ user }) => user.browser.post('/signout'), many: 'of the user', answers: 303 },
  'the user ends the session elsewhere': {
    act: async ({ user, tokens }) =>
      (await user.signedInElsewhere()).browser.delete(`/v1/me/sessions/${sessionOf(tokens.access_token)}`),
    many: 'of the user',
  },
  'the user ends all other sessions': {
    act: async ({ user }) => (await user.signedInElsewhere()).browser.delete('/v1/me/sessions'),
    many: 'of the user',
  },
  'the user changes the password': {
    act: ({ user }) => user.browser.postJson('/v1/me/password', { password: 'four unrelated ordinary words' }),
    many: 'of the user',
  },
  'the user deletes the account': {
    act: ({ user }) => user.browser.delete('/v1/me', { email: user.email }),
    many: 'of the user',
  },
  'an administrator revokes the grant': {
    act: ({ admin, tokens }) => admin.browser.delete(`/v1/admin/grants/${grantOf(tokens.access_token)}`, { reason }),
  },
  'an administrator ends the session': {
    act: ({ admin, user, tokens }) =>
      admin.browser.delete(`/v1/admin/users/${user.user_id}/sessions/${sessionOf(tokens.access_token)}`, { reason }),
    many: 'of the user',
  },
  'an administrator signs the user out': {
    act: byAdmin(({ user }) => `/users/${user.user_id}/sign-out`),
    many: 'of the user',
  },
  'an administrator disables the user': {
    act: byAdmin(({ user }) => `/users/${user.user_id}/disable`),
    many: 'of the user',
  },
  'an administrator resets the second factors': {
    act: byAdmin(({ user }) => `/users/${user.user_id}/reset-factors`),
    many: 'of the user',
  },
  'an administrator deletes the user': {
    act: ({ admin, user }) => admin.browser.delete(`/v1/admin/users/${user.user_id}`, { email: user.email, reason }),
    many: 'of the user',
  },
  'an administrator suspends the app': {
    act: byAdmin(({ client }) => `/clients/${client.client_id}/suspend`),
    many: 'of the client',
  },
  'the owner deletes the app': {
    act: ({ owner, client }) => owner.browser.delete(`/v1/oauth/clients/${client.client_id}`),
    many: 'of the client',
  },
};

/** More than a change writes, or deletes, by itself. */
const many = 600;

/** Copies of the grant, which have expired, so that none is surplus. What comes later is not in the first slice of a change. */
async function fill({ deps }: Signet, tokens: Tokens, { of }: { of: string }): Promise<void> {
  const at = now(deps);
  await plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                         code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr,
                         created_at, expiry_check_at, client_epoch, user_epoch)
     select 'gr_' || i || '_' || cast($1 as text), client_id, user_id, session_id, scope, redirect_uri,
            'code_' || i || '_' || cast($1 as text), code_challenge, cast($2 as bigint), cast($2 as bigint), 1, cast($2 as bigint),
            cast($2 as bigint), cast($2 as bigint), amr, acr, cast($2 as bigint) - 1, cast($2 as bigint) + 1000000, client_epoch, user_epoch
       from n, grants where grant_id = cast($3 as text)`,
    [of, at, grantOf(tokens.access_token)!],
  );
}

/** What a cache between keeps for as long as it is told, and an API that reads lists through it. */
function apiBehindCache(signet: Signet) {
  const kept = new Map<string, { body: string; headers: Headers; until: number }>();
  const cached: typeof fetch = async (input, init) => {
    const url = String(input);
    const known = kept.get(url);
    if (known && signet.clock() < known.until) return new Response(known.body, { headers: known.headers });
    const answer = await fetch(input, init);
    const [, seconds] = /max-age=(\d+)/.exec(answer.headers.get('cache-control') ?? '') ?? [];
    const body = await answer.text();
    if (answer.ok && url.includes('/status-lists/'))
      kept.set(url, { body, headers: answer.headers, until: signet.clock() + Number(seconds) * 1000 });
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
  const newApi = () => createVerifier({ issuer: signet.url, audience: identifier, now: signet.clock, fetch: cached });
  return { verify: newApi(), other: newApi() };
}

/** What a process says that has just started. */
async function bitByNewProcess({ deps }: Signet, token: string): Promise<number> {
  const { idx, uri } = statusOf(token);
  const lists = openStatusLists(deps);
  const list = await lists.read(uri.slice(uri.lastIndexOf('/') + 1));
  await lists.close();
  const { status_list } = claimsOf(list!.token) as unknown as { status_list: { lst: string } };
  return (inflateSync(Buffer.from(status_list.lst, 'base64url'))[idx >> 3]! >> (idx & 7)) & 1;
}

const variants = ['few', 'many', 'many, and a job has done its work'] as const;

for (const [name, kind] of Object.entries(kinds)) {
  testSignet(
    `at most 60 seconds later an API that reads lists alone refuses it: ${name}`,
    { env: { SIGNET_RATE_LIMITS: 'off' } },
    async ({ signet }) => {
      await newApi(signet, ['files:read'], identifier, { token_status: 'list' });
      for (const variant of kind.many ? variants : variants.slice(0, 1)) {
        const admin = await signet.signedInUser({ role: 'admin' });
        const owner = await signet.signedInUser();
        const newClient = () =>
          signet.registerClient({ owner, allowed_scopes: ['openid', 'offline_access', 'files:read'] });
        const control = (await (await signet.signedInUser()).obtainTokens(await newClient(), { scope })).access_token;
        const [client, user] = [await newClient(), await signet.signedInUser()];
        if (variant !== 'few') await fill(signet, await user.obtainTokens(client, { scope }), { of: user.user_id });
        signet.clock.advance(1);
        const code = await user.authorize(client, { scope });
        const tokens = tokensOf(await client.redeem(code));
        const { access_token } = tokens;
        const { verify, other } = apiBehindCache(signet);

        // The worst that can be: the server, a cache and the API have each looked a moment before they would have seen it.
        await verify(access_token);
        signet.clock.advance(15);
        await fetch(statusOf(access_token).uri);
        const acted = await kind.act({ signet, admin, owner, client, user, code, tokens });
        assert.ok(acted && (acted.status < 300 || acted.status === kind.answers), `${acted?.status} ${acted?.text}`);
        if (variant === variants[2]) await signet.runJobs();
        signet.clock.advance(4);
        await other(access_token); // the cache has the list of then
        signet.clock.advance(14);
        await verify(access_token); // and so has the API
        signet.clock.advance(17);
        // After 35 seconds: the other 25 are for the time that reading takes.
        await refusal(verify(access_token), 'invalid_token', /revoked/);
        await refusal(other(access_token), 'invalid_token', /revoked/);
        await verify(control);
        signet.clock.advance(1500);
        await signet.runJobs();
        assert.equal(await bitByNewProcess(signet, access_token), 1, `${variant}: after a restart`);
        assert.equal(await bitByNewProcess(signet, control), 0);
      }
    },
  );
}
