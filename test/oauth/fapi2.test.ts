import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify, UnsecuredJWT } from 'jose';
import type { Answer } from '../support/browser.ts';
import { newKeyPair } from '../support/client-keys.ts';
import { newProofKey } from '../support/dpop.ts';
import { type Deviation, FapiClient } from '../support/fapi-client.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused, claimsOf, type Fields, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/**
 * The modules of the plan of the FAPI 2.0 Security Profile Final (plain_fapi, private_key_jwt, DPoP, openid_connect), and those that
 * Message Signing adds, without their prefix: each makes the requests and the checks of its namesake. What concerns TLS is the proxy's.
 */

type Scene = {
  signet: Signet;
  client: FapiClient;
  second: FapiClient;
  /** Signed in. */
  user: TestUser;
  metadata: Record<string, unknown>;
  keys: ReturnType<typeof createLocalJWKSet>;
};
type Module = (scene: Scene) => Promise<void>;

const now = ({ signet }: Scene) => Math.floor(signet.clock() / 1000);

/** A push with this assertion is refused, and one at the token endpoint likewise. */
const refusesAssertion =
  (changes: (scene: Scene) => NonNullable<Deviation['assertion']>): Module =>
  async (scene) => {
    const { client, user } = scene;
    const assertion = changes(scene);
    assertRefused(await client.push({}, { assertion }), 401, 'invalid_client');
    assertRefused(await client.redeem(await client.codeOf(user), {}, { assertion }), 401, 'invalid_client');
  };

const refusesPush =
  (error: string, changes: Fields): Module =>
  async ({ client }) =>
    assertRefused(await client.push(changes), 400, error);

const succeeds =
  (changes: Fields, check: (scene: Scene, answer: Fields) => void = () => {}): Module =>
  async (scene) => {
    const { client, user } = scene;
    const answer = await client.ask(user, changes);
    check(scene, answer);
    const tokens = tokensOf(await client.redeem(answer.code ?? ''));
    assert.equal(claimsOf(tokens.id_token).nonce, 'nonce' in changes ? changes.nonce : 'n1');
    assert.equal((await client.userinfo(tokens.access_token)).status, 200);
  };

async function assertErrorPage(user: TestUser, path: string) {
  const answer = await user.browser.get(path);
  assert.deepEqual([answer.status, answer.location], [400, '']);
  assert.match(answer.text, sentence('authorize.pushed_over'));
}

/** Refused by the token endpoint for its proof. */
const assertProofRefused = (answer: Answer) => assertRefused(answer, 400, 'invalid_dpop_proof');

const securityProfile: Record<string, Module> = {
  async 'discovery-end-point-verification'({ metadata, signet }) {
    const includes = (name: string, ...values: string[]) => {
      for (const value of values) assert.ok((metadata[name] as string[]).includes(value), `${name}: ${value}`);
    };
    assert.equal(metadata.issuer, signet.url);
    assert.equal(metadata.pushed_authorization_request_endpoint, `${signet.url}/oauth/par`);
    assert.equal(metadata.require_pushed_authorization_requests, false);
    includes('token_endpoint_auth_methods_supported', 'private_key_jwt');
    for (const name of ['dpop_signing_alg_values_supported', 'token_endpoint_auth_signing_alg_values_supported'])
      includes(name, 'ES256', 'PS256', 'EdDSA');
    includes('code_challenge_methods_supported', 'S256');
    includes('id_token_signing_alg_values_supported', 'EdDSA');
    assert.equal(metadata.authorization_response_iss_parameter_supported, true);
    assert.equal(metadata.claims_parameter_supported, true);
  },

  async 'happy-flow'(scene) {
    const { client, second, user, metadata, keys, signet } = scene;
    const pushed = await client.push();
    assert.deepEqual([pushed.status, pushed.json?.expires_in], [201, 60]);
    assert.match(pushed.headers.get('content-type') ?? '', /^application\/json/);
    assert.match(pushed.headers.get('cache-control') ?? '', /no-store/);
    for (const one of [client, second]) {
      const answer = await one.ask(user, {}, {}, one.requestOf({ client_id: undefined }));
      assert.deepEqual([answer.state, answer.iss], ['s1', metadata.issuer]);
      assert.ok(Buffer.from(answer.code ?? '', 'base64url').length >= 16);
      const tokens = tokensOf(await one.redeem(answer.code ?? ''));
      assert.deepEqual([tokens.token_type, typeof tokens.expires_in], ['DPoP', 'number']);
      const { payload, protectedHeader } = await jwtVerify(tokens.id_token, keys, {
        issuer: String(metadata.issuer),
        audience: one.client_id,
        currentDate: new Date(signet.clock()),
      });
      assert.equal(protectedHeader.alg, 'EdDSA');
      const expected = 'acr amr at_hash aud auth_time azp exp iat iss nonce sub'.split(' ');
      assert.deepEqual(Object.keys(payload).sort(), expected);
      assert.equal((await one.userinfo(tokens.access_token)).json?.sub, payload.sub);
    }
  },

  async 'user-rejects-authentication'({ client, user }) {
    const { browser } = user.elsewhere();
    const request = redirectedTo(await browser.get(await client.pathOf())).get('request') ?? '';
    const answer = redirectedTo(await browser.post('/oauth/authorize/cancel', { request }));
    assert.deepEqual([answer.get('error'), answer.get('state'), answer.get('code')], ['access_denied', 's1', null]);
  },

  'ensure-authorization-request-without-state-success': succeeds({ state: undefined }, (_, answer) =>
    assert.equal('state' in answer, false),
  ),
  'ensure-authorization-request-without-nonce-success': succeeds({ nonce: undefined }),
  'ensure-authorization-request-with-64-char-nonce-success': succeeds({ nonce: 'n'.repeat(64) }),
  'ensure-authorization-request-with-long-nonce': succeeds({ nonce: 'n'.repeat(384) }),
  'ensure-authorization-request-with-long-state': succeeds({ state: 's'.repeat(1000) }, (_, answer) =>
    assert.equal(answer.state, 's'.repeat(1000)),
  ),
  'ensure-other-scope-order-succeeds': succeeds({ scope: 'email openid' }),

  async 'test-claims-parameter-identity-claims'({ client, user }) {
    const claims = { id_token: { email: null, auth_time: { essential: true } }, userinfo: { email_verified: null } };
    const tokens = await client.run(user, { scope: 'openid email', claims: JSON.stringify(claims) });
    assert.equal(claimsOf(tokens.id_token).email, user.email);
    assert.equal((await client.userinfo(tokens.access_token)).json?.email_verified, true);
  },

  'ensure-redirect-uri-in-authorization-request': refusesPush('invalid_request', { redirect_uri: undefined }),
  'ensure-request-object-without-redirect-uri-fails': refusesPush('invalid_request', { redirect_uri: undefined }),
  'plain-fapi-tolerate-unregistered-redirect-uri': refusesPush('invalid_request', {
    redirect_uri: 'https://rp.test/other',
  }),
  'ensure-response-type-code-idtoken-fails': refusesPush('unsupported_response_type', {
    response_type: 'code id_token',
  }),
  'ensure-response-type-token-fails': refusesPush('unsupported_response_type', { response_type: 'token' }),
  'par-ensure-pkce-required': refusesPush('invalid_request', {
    code_challenge: undefined,
    code_challenge_method: undefined,
  }),
  async 'par-plain-pkce-rejected'({ client }) {
    assertRefused(await client.push({ code_challenge_method: 'plain' }), 400, 'invalid_request');
    assertRefused(await client.push({ code_challenge_method: undefined }), 400, 'invalid_request');
  },

  async 'par-attempt-invalid-http-method'({ signet, client }) {
    const query = new URLSearchParams(client.requestOf() as Record<string, string>);
    for (const method of ['GET', 'PUT'])
      assert.equal((await fetch(`${signet.url}/oauth/par?${query}`, { method })).status, 405);
  },

  async 'par-authorization-request-containing-request_uri-form-param'({ client }) {
    const fields = { ...client.requestOf(), request_uri: 'urn:ietf:params:oauth:request_uri:x' };
    assertRefused(await client.post('/oauth/par', fields), 400, 'request_uri_not_supported');
    const signed = { request: await client.requestObject(client.requestOf()), request_uri: fields.request_uri };
    assertRefused(await client.post('/oauth/par', signed), 400, 'request_uri_not_supported');
  },

  async 'par-without-duplicate-parameters'({ client, user }) {
    const path = await client.pathOf();
    assert.deepEqual([...new URL(path, 'https://x.test').searchParams.keys()], ['client_id', 'request_uri']);
    assert.ok(redirectedTo(await user.browser.get(path)).get('code'));
  },

  async 'state-only-outside-request-object-not-used'({ client, user }) {
    const answer = await client.ask(user, { state: undefined }, {}, { state: 'outside' });
    assert.ok(answer.code);
    assert.equal('state' in answer, false);
  },

  async 'ensure-different-state-inside-and-outside-request-object'({ client, user }) {
    const answer = await client.ask(user, { state: 'inside' }, {}, { state: 'outside' });
    assert.deepEqual([answer.state, answer.error], ['inside', undefined]);
  },

  async 'ensure-different-nonce-inside-and-outside-request-object'({ client, user }) {
    const { code } = await client.ask(user, { nonce: 'inside' }, {}, { nonce: 'outside' });
    assert.equal(claimsOf(tokensOf(await client.redeem(code ?? '')).id_token).nonce, 'inside');
  },

  async 'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'({ client, user }) {
    const other = user.elsewhere();
    const path = await client.pathOf();
    await other.browser.get(path);
    const request = redirectedTo(await other.browser.get(path)).get('request') ?? '';
    const back = await other.browser.get((await other.signIn({ request })).location);
    assert.ok(redirectedTo(back).get('code'));
  },

  async 'par-attempt-reuse-request_uri'({ client, user }) {
    const path = await client.pathOf();
    assert.ok(redirectedTo(await user.browser.get(path)).get('code'));
    await assertErrorPage(user, path);
  },

  async 'par-attempt-to-use-expired-request_uri'({ client, user, signet }) {
    const path = await client.pathOf();
    signet.clock.advance(61);
    await assertErrorPage(user, path);
  },

  async 'par-attempt-to-use-request_uri-for-different-client'({ client, second, user }) {
    const path = await client.pathOf();
    await assertErrorPage(user, path.replace(client.client_id, second.client_id));
  },

  async 'ensure-unsigned-authorization-request-without-using-par-fails'({ client, user }) {
    const answer = redirectedTo(await user.browser.get(client.registered.authorizePath()));
    assert.deepEqual([answer.get('error'), answer.get('code')], ['invalid_request', null]);
  },

  'ensure-client-assertion-with-wrong-aud-fails': refusesAssertion(() => ({
    claims: { aud: 'https://other.example.com' },
  })),
  'par-test-array-as-audience-fails': refusesAssertion(({ signet }) => ({
    claims: { aud: [signet.url, `${signet.url}/oauth/par`] },
  })),
  'par-test-par-endpoint-url-as-audience-fails': refusesAssertion(({ signet }) => ({
    claims: { aud: `${signet.url}/oauth/par` },
  })),
  'par-test-token-endpoint-url-as-audience-fails': refusesAssertion(({ signet }) => ({
    claims: { aud: `${signet.url}/oauth/token` },
  })),
  'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails': refusesAssertion((scene) => ({
    claims: { exp: now(scene) - 300 },
  })),
  'ensure-client-assertion-with-no-sub-fails': refusesAssertion(() => ({ claims: { sub: undefined } })),
  async 'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted'(scene) {
    const at = now(scene);
    const answer = await scene.client.push({}, { assertion: { claims: { nbf: at + 8, iat: at + 8 } } });
    assert.equal(answer.status, 201);
  },
  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails': refusesAssertion((scene) => ({
    claims: { nbf: now(scene) + 70, iat: now(scene) + 70, exp: now(scene) + 130 },
  })),

  async 'ensure-signed-client-assertion-with-RS256-fails'({ client, user, signet }) {
    const signer = await FapiClient.register(signet, { alg: 'PS256' });
    assert.equal((await signer.push()).status, 201);
    const by = { ...signer.pair, alg: 'RS256' };
    assertRefused(await signer.push({}, { by }), 401, 'invalid_client');
    assertRefused(await signer.redeem(await signer.codeOf(user), {}, { by }), 401, 'invalid_client');
    assertRefused(await client.push({}, { by }), 401, 'invalid_client');
  },

  async 'ensure-client-assertion-in-token-endpoint'({ client, user }) {
    const code = await client.codeOf(user);
    const { client_id } = client;
    assertRefused(await client.redeem(code, { client_id }, { assertion: null }), 401, 'invalid_client');
  },

  async 'ensure-client-id-in-token-endpoint'({ client, second, user }) {
    const code = await client.codeOf(user);
    assertRefused(await second.redeem(code, {}, { by: client.pair }), 401, 'invalid_client');
  },

  async 'ensure-holder-of-key-required'({ client, user }) {
    assertProofRefused(await client.redeem(await client.codeOf(user), {}, { proof: null }));
  },

  async 'refresh-token'({ client, second, user, signet }) {
    const { refresh_token } = await client.run(user);
    const unauthenticated = { grant_type: 'refresh_token', refresh_token, client_id: client.client_id };
    assertRefused(await client.post('/oauth/token', unauthenticated, { assertion: null }), 401, 'invalid_client');
    assertProofRefused(await client.refresh(refresh_token, { proof: null }));
    const refreshed = tokensOf(await client.refresh(refresh_token));
    assert.equal(refreshed.refresh_token, refresh_token, 'it is bound to a key, and so does not rotate');
    assert.equal(refreshed.token_type, 'DPoP');
    assert.equal((await client.userinfo(refreshed.access_token)).status, 200);
    signet.clock.advance(30);
    assert.equal((await client.refresh(refresh_token)).status, 200);
    assertRefused(await second.refresh(refresh_token), 400, 'invalid_grant');
    assert.equal((await client.refresh(refresh_token)).status, 200, 'who tries it elsewhere ends nothing');
  },

  async 'check-dpop-proof-nbf-exp'(scene) {
    const { client, user } = scene;
    const { access_token } = await client.run(user);
    const at = now(scene);
    for (const claims of [{ nbf: at - 10, exp: at + 60 }, { nbf: at + 8 }])
      assert.equal((await client.userinfo(access_token, { proof: { claims } })).status, 200);
    for (const claims of [{ exp: at - 120 }, { nbf: at + 3600 }])
      assert.equal((await client.userinfo(access_token, { proof: { claims } })).status, 401);
  },

  async 'ensure-dpopproof-with-iat-10seconds-before-succeeds'(scene) {
    const proof = { claims: { iat: now(scene) - 10 } };
    const { access_token } = await scene.client.run(scene.user);
    assert.equal((await scene.client.userinfo(access_token, { proof })).status, 200);
  },

  async 'ensure-dpopproof-with-iat-10seconds-after-succeeds'(scene) {
    const proof = { claims: { iat: now(scene) + 10 } };
    const { access_token } = await scene.client.run(scene.user);
    assert.equal((await scene.client.userinfo(access_token, { proof })).status, 200);
  },

  async 'dpop-negative-tests'(scene) {
    const { client, user, signet } = scene;
    const { access_token } = await client.run(user);
    const [other, at] = [await newProofKey(), now(scene)];
    const wrong: Parameters<FapiClient['userinfo']>[1][] = [
      { proof: null },
      { scheme: 'Bearer' },
      { key: other },
      { proof: { claims: { ath: undefined } } },
      { proof: { claims: { ath: 'x' } } },
      { proof: { claims: { htm: 'POST' } } },
      { proof: { claims: { htm: undefined } } },
      { proof: { claims: { htu: `${signet.url}/oauth/token` } } },
      { proof: { claims: { htu: undefined } } },
      { proof: { claims: { jti: undefined } } },
      { proof: { claims: { iat: undefined } } },
      { proof: { claims: { iat: at - 3600 } } },
      { proof: { claims: { iat: at + 3600 } } },
      { proof: { header: { typ: 'JWT' } } },
      { proof: { header: { typ: undefined } } },
      { proof: { header: { jwk: undefined } } },
      { proof: { header: { jwk: other.jwk } } },
      { proof: { header: { jwk: { ...client.key.jwk, d: 'AAAA' } } } },
      { headers: { dpop: 'x' } },
      { headers: { dpop: new UnsecuredJWT({ jti: 'x', htm: 'GET', iat: at }).encode() } },
    ];
    for (const one of wrong) assert.equal((await client.userinfo(access_token, one)).status, 401, JSON.stringify(one));
    const jti = 'used once';
    assert.equal((await client.userinfo(access_token, { proof: { claims: { jti } } })).status, 200);
    assert.equal((await client.userinfo(access_token, { proof: { claims: { jti } } })).status, 401);
    const ignored = { htu: `${signet.url}/oauth/userinfo?a=b#c`, unknown: true };
    assert.equal((await client.userinfo(access_token, { proof: { claims: ignored } })).status, 200);
    const inQuery = await fetch(`${signet.url}/oauth/userinfo?access_token=${access_token}`);
    assert.ok(inQuery.status >= 400 && inQuery.status < 500);
  },

  async 'access-token-type-header-case-sensitivity'({ client, user }) {
    const { access_token } = await client.run(user);
    for (const scheme of ['dPOP', 'dpop', 'DPOP'])
      assert.equal((await client.userinfo(access_token, { scheme })).status, 200, scheme);
  },

  async 'ensure-mismatched-dpop-jkt-fails'({ client }) {
    assertProofRefused(await client.push({ dpop_jkt: 'A'.repeat(43) }, { proof: {} }));
  },

  async 'ensure-token-endpoint-fails-with-mismatched-dpop-jkt'({ client, user }) {
    const code = await client.codeOf(user, { dpop_jkt: 'A'.repeat(43) });
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
  },

  async 'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt'({ client, user }) {
    const code = await client.codeOf(user, {}, { proof: {} });
    assertRefused(await client.redeem(code, {}, { proofKey: await newProofKey() }), 400, 'invalid_grant');
  },

  async 'ensure-dpopproof-at-par-endpoint-binding-success'({ client, user }) {
    await client.run(user, {}, { proof: {} });
  },

  async 'ensure-dpop-auth-code-binding-success'({ client, user }) {
    const { cnf } = claimsOf((await client.run(user)).access_token) as { cnf: { jkt: string } };
    await client.run(user, { dpop_jkt: cnf.jkt });
  },

  async 'ensure-pkce-code-verifier-required'({ client, user }) {
    const answer = await client.redeem(await client.codeOf(user), { code_verifier: undefined });
    assertRefused(answer, 400, 'invalid_grant');
  },

  async 'incorrect-pkce-code-verifier-rejected'({ client, user }) {
    const answer = await client.redeem(await client.codeOf(user), { code_verifier: 'v'.repeat(43) });
    assertRefused(answer, 400, 'invalid_grant');
  },

  async 'ensure-authorization-code-is-bound-to-client'({ client, second, user }) {
    assertRefused(await second.redeem(await client.codeOf(user)), 400, 'invalid_grant');
  },

  async 'attempt-reuse-authorization-code-after-one-second'({ client, user, signet }) {
    const code = await client.codeOf(user);
    const { access_token } = tokensOf(await client.redeem(code));
    signet.clock.advance(1);
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    assert.equal((await client.userinfo(access_token)).status, 401);
  },

  async 'ensure-token-endpoint-fails-with-expired-auth-code'({ client, user, signet }) {
    const code = await client.codeOf(user);
    signet.clock.advance(62);
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
  },
};

/** A push of a signed request with these claims beside or instead of the right ones. */
const signed = async (
  { client }: Scene,
  changes: JWTPayload,
  options?: Parameters<FapiClient['requestObject']>[1],
): Promise<Answer> =>
  client.post('/oauth/par', { request: await client.requestObject({ ...client.requestOf(), ...changes }, options) });

const refusesObject =
  (changes: (scene: Scene) => JWTPayload): Module =>
  async (scene) =>
    assertRefused(await signed(scene, changes(scene)), 400, 'invalid_request_object');

const takesObject =
  (changes: (scene: Scene) => JWTPayload): Module =>
  async (scene) => {
    const answer = await signed(scene, changes(scene));
    assert.equal(answer.status, 201, answer.text);
    const { request_uri } = answer.json as { request_uri: string };
    const query = new URLSearchParams({ client_id: scene.client.client_id, request_uri });
    assert.ok(redirectedTo(await scene.user.browser.get(`/oauth/authorize?${query}`)).get('code'));
  };

const messageSigning: Record<string, Module> = {
  'ensure-request-object-with-multiple-aud-succeeds': takesObject(({ signet }) => ({
    aud: ['https://other.example.com', signet.url],
  })),
  'ensure-request-object-with-bad-aud-fails': refusesObject(() => ({ aud: 'https://other.example.com' })),
  'ensure-request-object-without-exp-fails': refusesObject(() => ({ exp: undefined })),
  'ensure-request-object-without-nbf-fails': refusesObject(() => ({ nbf: undefined })),
  'ensure-request-object-with-exp-over-60-fails': refusesObject((scene) => ({ exp: now(scene) + 4200 })),
  'ensure-request-object-with-nbf-over-60-fails': refusesObject((scene) => ({ nbf: now(scene) - 4200 })),
  'ensure-expired-request-object-fails': refusesObject((scene) => ({ nbf: now(scene) - 60, exp: now(scene) - 1 })),
  'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted': takesObject((scene) => ({
    nbf: now(scene) + 8,
  })),
  'par-authorization-request-containing-request_uri': refusesObject(() => ({
    request_uri: 'urn:ietf:params:oauth:request_uri:x',
  })),
  async 'ensure-signed-request-object-with-RS256-fails'(scene) {
    const client = await FapiClient.register(scene.signet, { alg: 'PS256', signsRequests: true });
    assert.equal((await signed({ ...scene, client }, {})).status, 201);
    const by = { ...client.pair, alg: 'RS256' };
    assertRefused(await signed({ ...scene, client }, {}, { by }), 400, 'invalid_request_object');
  },
  async 'ensure-request-object-signature-algorithm-is-not-none'(scene) {
    const { client, signet } = scene;
    const at = now(scene);
    const claims = { ...client.requestOf(), iss: client.client_id, aud: signet.url, nbf: at, exp: at + 60 };
    const request = new UnsecuredJWT(claims).encode();
    assertRefused(await client.post('/oauth/par', { request }), 400, 'invalid_request_object');
  },
  async 'ensure-request-object-with-invalid-signature-fails'({ client }) {
    const [header, payload, signature = ''] = (await client.requestObject(client.requestOf())).split('.');
    const bytes = Buffer.from(signature, 'base64url');
    bytes[5] = bytes[5]! ^ 0x5a;
    const request = [header, payload, bytes.toString('base64url')].join('.');
    assertRefused(await client.post('/oauth/par', { request }), 400, 'invalid_request_object');
  },
  async 'ensure-matching-key-in-authorization-request'(scene) {
    const foreign = newKeyPair('ES256');
    assertRefused(await signed(scene, {}, { by: foreign }), 400, 'invalid_request_object');
    const disguised = { ...foreign, kid: scene.client.pair.kid };
    assertRefused(await signed(scene, {}, { by: disguised }), 400, 'invalid_request_object');
  },
  async 'ensure-unsigned-request-at-par-endpoint-fails'({ client }) {
    assertRefused(await client.post('/oauth/par', client.requestOf()), 400, 'invalid_request');
  },
};

async function openScene(signet: Signet, signsRequests: boolean): Promise<Scene> {
  const metadata = (await (await fetch(`${signet.url}/.well-known/openid-configuration`)).json()) as Scene['metadata'];
  const keys = createLocalJWKSet((await (await fetch(String(metadata.jwks_uri))).json()) as JSONWebKeySet);
  return {
    signet,
    client: await FapiClient.register(signet, { signsRequests }),
    second: await FapiClient.register(signet, {
      signsRequests,
      alg: 'EdDSA',
      redirect_uris: ['https://rp.test/cb?a=b'],
    }),
    user: await signet.signedInUser(),
    metadata,
    keys,
  };
}

test('FA-01: the modules of the FAPI 2.0 plans', async (t) => {
  assert.deepEqual([Object.keys(securityProfile).length, Object.keys(messageSigning).length], [56, 14]);
  const signet = await startSignet(t);
  for (const [plan, modules, signsRequests] of [
    ['fapi2-security-profile-final', securityProfile, false],
    ['fapi2-message-signing-final', { ...messageSigning, 'happy-flow': securityProfile['happy-flow']! }, true],
  ] as const) {
    const scene = await openScene(signet, signsRequests);
    for (const [name, run] of Object.entries(modules)) await t.test(`${plan}-${name}`, () => run(scene));
  }
});
