import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { fullProfile } from '../support/full-profile.ts';
import { sentence } from '../support/messages.ts';
import {
  assertRefused,
  claimsOf,
  type Fields,
  formOf,
  type RegisteredClient,
  redirectedTo,
  type Tokens,
  tokensOf,
} from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/**
 * The modules of three plans of the OpenID Foundation's conformance suite, for registered clients: each makes the requests
 * and the checks of its namesake (`net.openid.conformance.openid`), warnings included. What differs is said in
 * docs/standards.md; above all, a code_challenge is added to every request.
 */

type Mode = 'query' | 'form_post';
type Page = 'sign-in' | 'consent';
/** What the suite has at the end of a flow. `pages` are those that the user saw on the way. */
type Flow = {
  pages: Page[];
  code: string;
  tokens: Tokens;
  claims: Record<string, unknown>;
  userinfo: Record<string, unknown>;
};

type Scene = {
  signet: Signet;
  client: RegisteredClient;
  second: RegisteredClient;
  /** Signed in. */
  user: TestUser;
  metadata: Record<string, unknown>;
  /** The answer of the authorization endpoint, as the client gets it. */
  ask(user: TestUser, changes?: Fields, method?: 'get' | 'post'): Promise<{ pages: Page[]; answer: Fields }>;
  /** From the authorization request to the claims. */
  run(user: TestUser, changes?: Fields, client?: RegisteredClient): Promise<Flow>;
};

const modules = {
  async 'oidcc-server'({ run, user }) {
    const { code, tokens, claims } = await run(user);
    assert.ok(Buffer.from(code, 'base64url').length >= 16, 'at least 128 bits');
    assert.equal(typeof tokens.expires_in, 'number');
    const half = hash('sha256', tokens.access_token, 'buffer').subarray(0, 16);
    assert.equal(claims.at_hash, half.toString('base64url'));
    const expected = 'acr amr at_hash aud auth_time azp exp iat iss nonce sid sub'.split(' ');
    assert.deepEqual(Object.keys(claims).sort(), expected, 'nothing that was not requested');
  },

  async 'oidcc-response-type-missing'({ ask, user }) {
    const { answer } = await ask(user, { response_type: undefined });
    assertErrorAnswer(answer, 'invalid_request');
  },

  async 'oidcc-userinfo-get'({ run, user }) {
    const { userinfo, claims } = await run(user);
    assert.equal(userinfo.sub, claims.sub);
  },

  async 'oidcc-userinfo-post-header'({ run, user, signet }) {
    const { tokens, claims } = await run(user);
    assert.equal((await signet.userinfo(tokens.access_token, { method: 'POST' })).json?.sub, claims.sub);
  },

  async 'oidcc-userinfo-post-body'({ run, user, signet }) {
    const { tokens, claims } = await run(user);
    const { access_token } = tokens;
    assert.equal((await signet.postForm('/oauth/userinfo', { access_token })).json?.sub, claims.sub);
  },

  async 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow'({ run, user }) {
    assert.equal('nonce' in (await run(user, { nonce: undefined })).claims, false);
  },

  async 'oidcc-scope-profile'({ run, user }) {
    const { userinfo } = await run(user, { scope: 'openid profile' });
    assert.deepEqual(
      Object.keys(fullProfile).filter((name) => !(name in userinfo)),
      [],
    );
    assert.equal(Number.isInteger(userinfo.updated_at), true);
  },

  async 'oidcc-scope-email'({ run, user }) {
    const { userinfo } = await run(user, { scope: 'openid email' });
    assert.deepEqual([userinfo.email, userinfo.email_verified], [user.email, true]);
  },

  async 'oidcc-scope-address'({ metadata }) {
    assertSkipped(metadata, 'address');
  },

  async 'oidcc-scope-phone'({ metadata }) {
    assertSkipped(metadata, 'phone');
  },

  async 'oidcc-scope-all'({ metadata }) {
    assertSkipped(metadata, 'address');
  },

  async 'oidcc-ensure-other-scope-order-succeeds'({ run, user }) {
    assert.equal((await run(user, { scope: 'email openid' })).userinfo.email, user.email);
  },

  async 'oidcc-display-page'({ run, user }) {
    await run(user, { display: 'page' });
  },

  async 'oidcc-display-popup'({ run, user }) {
    await run(user, { display: 'popup' });
  },

  async 'oidcc-prompt-login'({ run, user, signet }) {
    const first = await run(user);
    signet.clock.advance(1);
    const second = await run(user, { prompt: 'login' });
    assert.deepEqual(second.pages, ['sign-in']);
    assert.notEqual(second.claims.auth_time, first.claims.auth_time);
  },

  async 'oidcc-prompt-none-not-logged-in'({ ask, user }) {
    const state = 'x'.repeat(128);
    const { pages, answer } = await ask(user.elsewhere(), { prompt: 'none', state });
    assert.deepEqual(pages, []);
    assertErrorAnswer(answer, 'login_required', state);
  },

  async 'oidcc-prompt-none-logged-in'({ run, user }) {
    await assertSameSignIn(run, user, {}, { prompt: 'none' });
  },

  async 'oidcc-max-age-1'({ run, user, signet }) {
    const first = await run(user);
    signet.clock.advance(2);
    const { pages, claims } = await run(user, { max_age: '1' });
    assert.deepEqual(pages, ['sign-in']);
    assert.ok(Number(claims.auth_time) > Number(first.claims.auth_time));
    assert.equal(claims.auth_time, signet.clock() / 1000);
  },

  async 'oidcc-max-age-10000'({ run, user }) {
    const { auth_time } = await assertSameSignIn(run, user, { max_age: '15000' }, { max_age: '10000' });
    assert.equal(Number.isInteger(auth_time), true);
  },

  async 'oidcc-ensure-request-with-unknown-parameter-succeeds'({ run, user }) {
    await run(user, { extra: 'foobar' });
  },

  async 'oidcc-id-token-hint'({ run, user }) {
    const { tokens } = await run(user);
    await assertSameSignIn(run, user, {}, { prompt: 'none', id_token_hint: tokens.id_token });
  },

  async 'oidcc-login-hint'({ run, user }) {
    const { pages } = await run(user.elsewhere(), { login_hint: 'buffy@rp.test' });
    assert.deepEqual(pages, ['sign-in']);
  },

  async 'oidcc-ui-locales'({ run, user }) {
    await run(user.elsewhere(), { ui_locales: 'se' });
  },

  async 'oidcc-claims-locales'({ run, user }) {
    await run(user, { claims_locales: 'se' });
  },

  async 'oidcc-ensure-request-with-acr-values-succeeds'({ run, user, metadata }) {
    const supported = metadata.acr_values_supported as string[];
    const { claims } = await run(user, { acr_values: supported.join(' ') });
    assert.ok(supported.includes(String(claims.acr)));
  },

  async 'oidcc-codereuse'({ run, user, client }) {
    const { code } = await run(user);
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
  },

  async 'oidcc-codereuse-30seconds'({ run, user, client, signet }) {
    const { code, tokens } = await run(user);
    signet.clock.advance(30);
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    assertRefused(await signet.userinfo(tokens.access_token), 401, 'invalid_token');
  },

  async 'oidcc-ensure-registered-redirect-uri'(scene) {
    await assertErrorPage(scene, { redirect_uri: `${scene.client.redirect_uri}/3fXw81zbQo` });
  },

  async 'oidcc-ensure-post-request-succeeds'({ ask, user, client }) {
    const { answer } = await ask(user, {}, 'post');
    assert.equal((await client.redeem(answer.code!)).status, 200);
  },

  async 'oidcc-server-client-secret-post'({ ask, user, client }) {
    const { answer } = await ask(user);
    const { client_secret } = client;
    const asked = await client.with({ client_secret: null }).redeem(answer.code!, { client_secret: client_secret! });
    assert.ok(tokensOf(asked).id_token);
  },

  /**
   * It is skipped, since the object may be refused. The suite puts response_mode into the object alone, and the refusal travels by it.
   */
  async 'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported'({ user, client }) {
    const { redirect_uri } = client;
    const answer = redirectedTo(await user.browser.get(client.authorizePath(requestObject({ redirect_uri }))));
    assert.deepEqual([answer.base, answer.get('error')], [redirect_uri, 'request_not_supported']);
    const inside = requestObject({ redirect_uri, response_mode: 'form_post' });
    const { action, fields } = formOf(await user.browser.get(client.authorizePath(inside)));
    assert.deepEqual([action, fields.error], [redirect_uri, 'request_not_supported']);
  },

  async 'oidcc-claims-essential'({ run, user }) {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } });
    const flow = await run(user, { scope: 'openid', claims });
    assert.equal(flow.userinfo.name, fullProfile.name);
    assert.equal('name' in flow.claims, false);
  },

  async 'oidcc-ensure-request-object-with-redirect-uri'(scene) {
    const { redirect_uri } = scene.client;
    await assertErrorPage(scene, { ...requestObject({ redirect_uri }), redirect_uri: `${redirect_uri}/invalid` });
  },

  async 'oidcc-refresh-token'({ run, user, client, second, signet }) {
    const asked = { scope: 'openid offline_access', prompt: 'consent' };
    const flow = await run(user, asked);
    assert.deepEqual(flow.pages, ['consent']);
    signet.clock.advance(1);
    const answer = await client.refresh(flow.tokens.refresh_token, { scope: asked.scope });
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
    const tokens = tokensOf(answer);
    assert.equal(tokens.token_type, 'Bearer');
    assert.notEqual(tokens.access_token, flow.tokens.access_token);
    const { iss, sub, aud, azp, auth_time, iat } = claimsOf(tokens.id_token);
    const before = flow.claims;
    assert.deepEqual(
      [iss, sub, aud, azp, auth_time],
      [before.iss, before.sub, before.aud, before.azp, before.auth_time],
    );
    assert.notEqual(iat, before.iat);
    assert.equal((await signet.userinfo(tokens.access_token)).status, 200);

    const ofSecond = await run(user, asked, second);
    assertRefused(await client.refresh(ofSecond.tokens.refresh_token), 400, 'invalid_grant');
  },

  async 'oidcc-ensure-request-with-valid-pkce-succeeds'({ run, user }) {
    await run(user);
  },
} satisfies Record<string, (scene: Scene) => Promise<void>>;

/** The suite skips a module whose scope is not in `scopes_supported`. */
const assertSkipped = ({ scopes_supported }: Scene['metadata'], scope: string) =>
  assert.equal((scopes_supported as string[]).includes(scope), false);

function assertErrorAnswer(
  { error, error_description = '', state, code, iss, ...others }: Fields,
  expected: string,
  sent = 's1',
) {
  assert.deepEqual([error, state, code, Object.keys(others)], [expected, sent, undefined, []]);
  assert.match(error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/); // RFC 6749 §4.1.2.1
  assert.ok(iss);
}

async function assertErrorPage({ user, client }: Scene, changes: Fields) {
  const answer = await user.browser.get(client.authorizePath(changes));
  assert.deepEqual([answer.status, answer.location], [400, '']);
  assert.match(answer.text, sentence('authorize.redirect_uri'));
}

/** Two flows, the second without any page: both id tokens are about one sign-in. */
async function assertSameSignIn(run: Scene['run'], user: TestUser, first: Fields, second: Fields) {
  const before = await run(user, first);
  const { pages, claims } = await run(user, second);
  assert.deepEqual(pages, []);
  assert.deepEqual([claims.sub, claims.auth_time], [before.claims.sub, before.claims.auth_time]);
  return claims;
}

/** Unsigned. Outside of it there is only what OAuth and OpenID Connect Core §6.1 require there. */
function requestObject(inside: Fields): Fields {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { response_type: 'code', scope: 'openid', state: 's1', nonce: 'n1', ...inside };
  const outside = { scope: 'openid', state: undefined, nonce: undefined };
  const noPkce = { code_challenge: undefined, code_challenge_method: undefined };
  return { request: `${encode({ alg: 'none' })}.${encode(claims)}.`, ...outside, ...noPkce };
}

async function openScene(signet: Signet, mode: Mode): Promise<Scene> {
  const client = await signet.registerClient({ id_token_signed_response_alg: 'RS256' });
  const user = await signet.signedInUser({ name: fullProfile.name });
  const entered = { ...fullProfile, name: undefined, preferred_username: `ada.${mode}` };
  assert.equal((await user.browser.patch('/v1/me', entered)).status, 200);
  const metadata = (await (await fetch(`${signet.url}/.well-known/openid-configuration`)).json()) as Scene['metadata'];
  const jwks = createLocalJWKSet((await (await fetch(String(metadata.jwks_uri))).json()) as JSONWebKeySet);

  const ask: Scene['ask'] = async (user, changes = {}, method = 'get') => {
    const asking = mode === 'query' ? changes : { response_mode: mode, ...changes };
    const [path = '', query = ''] = client.authorizePath(asking).split('?');
    const { browser } = user;
    let answer = await (method === 'get'
      ? browser.get(`${path}?${query}`)
      : browser.post(path, Object.fromEntries(new URLSearchParams(query)), { origin: 'https://rp.test' }));
    const pages: Page[] = [];
    for (let steps = 0; answer.location.startsWith('/') && steps < 6; steps += 1) {
      const request = redirectedTo(answer).get('request') ?? '';
      const page = await browser.get(answer.location);
      if (answer.location.startsWith('/signin?')) {
        pages.push('sign-in');
        answer = await user.signIn({ request });
      } else if (answer.location.startsWith('/consent?')) {
        pages.push('consent');
        answer = await browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
      } else {
        answer = page;
      }
    }
    if (mode === 'form_post') {
      const { action, fields } = formOf(answer);
      assert.equal(action, client.redirect_uri);
      return { pages, answer: fields };
    }
    const parameters = redirectedTo(answer);
    assert.equal(parameters.base, client.redirect_uri);
    return { pages, answer: Object.fromEntries(parameters) };
  };

  const run: Scene['run'] = async (user, changes = {}, asking = client) => {
    const { pages, answer } = await ask(user, { client_id: asking.client_id, ...changes });
    const { code = '', ...others } = answer;
    assert.deepEqual(others, { state: 's1', iss: metadata.issuer });
    const tokens = tokensOf(await asking.redeem(code));
    const { payload: claims, protectedHeader } = await jwtVerify(tokens.id_token, jwks, {
      issuer: String(metadata.issuer),
      audience: asking.client_id,
      currentDate: new Date(signet.clock()),
    });
    assert.ok(protectedHeader.kid);
    assert.equal(claims.nonce, 'nonce' in changes ? changes.nonce : 'n1');
    const { status, json } = await signet.userinfo(tokens.access_token);
    assert.deepEqual([status, json?.sub], [200, claims.sub]);
    return { pages, code, tokens, claims, userinfo: json! };
  };

  const second = await signet.registerClient({ id_token_signed_response_alg: 'RS256' });
  return { signet, client, second, user, metadata, ask, run };
}

// What a store does is tested elsewhere, so one engine is enough.
test('plans of the OpenID Foundation', async (t) => {
  const signet = await startSignet(t);
  for (const [plan, mode] of [
    ['oidcc-basic-certification-test-plan', 'query'],
    ['oidcc-formpost-basic-certification-test-plan', 'form_post'],
  ] as const) {
    await t.test(plan, async (t) => {
      const scene = await openScene(signet, mode);
      for (const [module, run] of Object.entries(modules)) await t.test(module, () => run(scene));
    });
  }
});

test('oidcc-config-certification-test-plan', async (t) => {
  await t.test('oidcc-discovery-endpoint-verification', async () => {
    const issuer = 'https://id.example.com';
    const { url, deps } = await startSignet(t, { env: { SIGNET_BASE_URL: issuer } });
    const answer = await fetch(`http://127.0.0.1:${deps.config.port}/.well-known/openid-configuration`);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    const metadata = (await answer.json()) as Record<string, string | string[]>;
    assert.deepEqual([url, metadata.issuer], [issuer, issuer]);
    for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri']) {
      assert.ok(metadata[name], name);
    }
    for (const [name, value] of Object.entries(metadata)) {
      if (/_endpoint$|_uri$/.test(name)) assert.equal(new URL(String(value)).protocol, 'https:', name);
    }
    const includes = (name: string, value: string) =>
      assert.ok(Array.isArray(metadata[name]) && metadata[name].includes(value), name);
    includes('response_types_supported', 'code');
    includes('subject_types_supported', 'public');
    includes('id_token_signing_alg_values_supported', 'RS256');
    includes('grant_types_supported', 'authorization_code');
    includes('scopes_supported', 'openid');
    includes('claims_supported', 'sub');
    includes('code_challenge_methods_supported', 'S256');
    const keySet = await fetch(`http://127.0.0.1:${deps.config.port}${new URL(String(metadata.jwks_uri)).pathname}`);
    const { keys } = (await keySet.json()) as JSONWebKeySet;
    assert.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length);
    for (const key of keys)
      assert.deepEqual(
        ['d', 'k', 'p', 'q'].filter((member) => member in key),
        [],
      );
  });
});
