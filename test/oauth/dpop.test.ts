import assert from 'node:assert/strict';
import { calculateJwkThumbprint, decodeJwt, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { readAnswer } from '../support/browser.ts';
import { newProofKey, type ProofChanges, type ProofKey, proofOf } from '../support/dpop.ts';
import {
  assertRefused,
  challengeOf,
  type RegisteredClient,
  redirectedTo,
  tokensOf,
  verifier,
} from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const token = ['POST', '/oauth/token'] as const;
const userinfo = ['GET', '/oauth/userinfo'] as const;

/** Redeems a code, or refreshes, with a proof by this key. */
const asker = (signet: Signet, client: RegisteredClient, key: ProofKey) => ({
  async redeem(code: string, changes?: ProofChanges) {
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: client.redirect_uri,
      code_verifier: verifier,
    };
    const proof = await proofOf(signet, key, token, changes);
    return client.post('/oauth/token', { client_id: client.client_id, ...fields }, { dpop: proof });
  },
  async refresh(refresh_token: string) {
    const fields = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token };
    return client.post('/oauth/token', fields, { dpop: await proofOf(signet, key, token) });
  },
});

async function read(
  { url }: Pick<Signet, 'url'>,
  headers: Record<string, string>,
  path = userinfo[1],
  method = userinfo[0] as string,
) {
  return readAnswer(await fetch(url + path, { method, headers }));
}

testSignet(
  'DP-01: a proof binds the access token to its key, and without the key it opens nothing',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    const key = await newProofKey();
    const jkt = await calculateJwkThumbprint(key.jwk);
    const { redeem, refresh } = asker(signet, client, key);
    const tokens = tokensOf(await redeem(await user.authorize(client)));
    assert.equal(tokens.token_type, 'DPoP');
    assert.deepEqual(decodeJwt(tokens.access_token).cnf, { jkt });
    assert.equal(decodeJwt(tokens.id_token).cnf, undefined);
    const bound = tokens.access_token;
    const introspected = (await client.introspect(bound)).json;
    assert.deepEqual([introspected?.cnf, introspected?.token_type], [{ jkt }, 'DPoP']);

    const proven = { dpop: await proofOf(signet, key, userinfo, { token: bound }) };
    assert.equal((await read(signet, { authorization: `dPoP ${bound}`, ...proven })).json?.sub, user.user_id);
    const posted = await proofOf(signet, key, ['POST', '/oauth/userinfo'], { token: bound });
    assert.equal(
      (await read(signet, { authorization: `DPoP ${bound}`, dpop: posted }, '/oauth/userinfo', 'POST')).status,
      200,
    );

    const asBearer = await read(signet, { authorization: `Bearer ${bound}` });
    assertRefused(asBearer, 401, 'invalid_token');
    assertRefused(await signet.postForm('/oauth/userinfo', { access_token: bound }), 401, 'invalid_token');
    const unproven = await read(signet, { authorization: `DPoP ${bound}` });
    assertRefused(unproven, 401, 'invalid_token');
    assert.match(unproven.headers.get('www-authenticate') ?? '', /^DPoP error="invalid_token"/);
    const other = await newProofKey();
    const foreign = await proofOf(signet, other, userinfo, { token: bound });
    assertRefused(await read(signet, { authorization: `DPoP ${bound}`, dpop: foreign }), 401, 'invalid_token');
    const unbound = await user.obtainTokens(client);
    assert.equal(unbound.token_type, 'Bearer');
    const asDpop = {
      authorization: `DPoP ${unbound.access_token}`,
      dpop: await proofOf(signet, key, userinfo, { token: unbound.access_token }),
    };
    assertRefused(await read(signet, asDpop), 401, 'invalid_token');

    const again = tokensOf(await refresh(tokens.refresh_token));
    assert.deepEqual(decodeJwt(again.access_token).cnf, { jkt });
    const otherKey = tokensOf(await asker(signet, client, other).refresh(again.refresh_token));
    assert.deepEqual(
      decodeJwt(otherKey.access_token).cnf,
      { jkt: await calculateJwkThumbprint(other.jwk) },
      'its client authenticates',
    );
    assert.equal(
      (await read(signet, {})).headers.get('www-authenticate'),
      'Bearer, DPoP algs="ES256 PS256 EdDSA Ed25519"',
    );
  },
);

testSignet('DP-02: the refresh token of a public client needs the key of its code', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user, client_type: 'public' });
  const [key, thief] = [await newProofKey('EdDSA'), await newProofKey()];
  const { redeem, refresh } = asker(signet, client, key);
  const { refresh_token } = tokensOf(await redeem(await user.authorize(client)));
  assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
  assertRefused(await asker(signet, client, thief).refresh(refresh_token), 400, 'invalid_grant');
  const next = tokensOf(await refresh(refresh_token));
  // A stolen old token ends the sign-in of nobody, unless the key was stolen with it.
  assertRefused(await asker(signet, client, thief).refresh(refresh_token), 400, 'invalid_grant');
  const last = tokensOf(await refresh(next.refresh_token));
  assertRefused(await refresh(refresh_token), 400, 'invalid_grant');
  assertRefused(await refresh(last.refresh_token), 400, 'invalid_grant');
});

testSignet('DP-03: dpop_jkt, or a proof at the pushed endpoint, binds the code', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user, client_type: 'public' });
  const service = await signet.newService({ permissions: ['tokens:introspect'], products: [] });
  const seen = async (token: string) =>
    (await signet.postForm('/oauth/introspect', { token }, { authorization: service.authorization })).json;
  const [key, other] = [await newProofKey(), await newProofKey()];
  const dpop_jkt = await calculateJwkThumbprint(key.jwk);
  const code = await user.authorize(client, { dpop_jkt });
  assertRefused(await client.redeem(code), 400, 'invalid_grant');
  assertRefused(await asker(signet, client, other).redeem(code), 400, 'invalid_grant');
  const { access_token } = tokensOf(await asker(signet, client, key).redeem(code));
  assertRefused(await asker(signet, client, other).redeem(code), 400, 'invalid_grant');
  assert.equal((await seen(access_token))?.active, true, 'without the key a used code revokes nothing');
  assertRefused(await asker(signet, client, key).redeem(code), 400, 'invalid_grant');
  assert.deepEqual(await seen(access_token), { active: false });
  const wrong = redirectedTo(await user.browser.get(client.authorizePath({ dpop_jkt: 'short' })));
  assert.equal(wrong.get('error'), 'invalid_request');

  const request = Object.fromEntries(new URLSearchParams(client.authorizePath().split('?')[1]));
  const push = async (by: ProofKey, more = {}) =>
    client.post('/oauth/par', { ...request, ...more }, { dpop: await proofOf(signet, by, ['POST', '/oauth/par']) });
  assertRefused(await push(other, { dpop_jkt }), 400, 'invalid_dpop_proof');
  const { request_uri } = (await push(key)).json as { request_uri: string };
  const path = `/oauth/authorize?${new URLSearchParams({ client_id: client.client_id, request_uri })}`;
  const pushed = redirectedTo(await user.browser.get(path)).get('code') ?? '';
  assertRefused(await asker(signet, client, other).redeem(pushed), 400, 'invalid_grant');
  tokensOf(await asker(signet, client, key).redeem(pushed));
});

testSignet('DP-04: a proof is for one request, one moment and one token, and is used once', async ({ signet, t }) => {
  const beside = await startSignet(t, { beside: signet });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user, dpop_bound_access_tokens: true });
  const key = await newProofKey();
  const rsa = await newProofKey('RS256');
  const { redeem } = asker(signet, client, key);
  const at = Math.floor(signet.clock() / 1000);
  const code = await user.authorize(client);
  assertRefused(await client.redeem(code), 400, 'invalid_dpop_proof');
  const secret = await exportJWK(key.privateKey);
  const wrong: [string, ProofChanges][] = [
    ['typ', { header: { typ: 'JWT' } }],
    ['no jwk', { header: { jwk: undefined } }],
    ['a private jwk', { header: { jwk: secret } }],
    ['a jwk of another key', { header: { jwk: (await newProofKey()).jwk } }],
    ['htm', { claims: { htm: 'GET' } }],
    ['no htm', { claims: { htm: undefined } }],
    ['htu', { claims: { htu: `${signet.url}/oauth/par` } }],
    ['htu of another host', { claims: { htu: 'https://other.test/oauth/token' } }],
    ['no htu', { claims: { htu: undefined } }],
    ['no iat', { claims: { iat: undefined } }],
    ['no jti', { claims: { jti: undefined } }],
    ['a long jti', { claims: { jti: 'x'.repeat(300) } }],
    ['nbf', { claims: { nbf: at + 3600 } }],
    ['exp', { claims: { exp: at - 1 } }],
  ];
  for (const [name, changes] of wrong) {
    const answer = await redeem(code, changes);
    assert.deepEqual([answer.status, answer.json?.error], [400, 'invalid_dpop_proof'], name);
  }
  assertRefused(await asker(signet, client, rsa).redeem(code), 400, 'invalid_dpop_proof');
  for (const iat of [at - 3600, at + 3600, at - 61, at + 61])
    assertRefused(await redeem(code, { claims: { iat } }), 400, 'use_dpop_nonce');

  const proof = await proofOf(signet, key, token, {
    claims: { iat: at - 10, htu: `${signet.url.replace('http:', 'HTTP:')}/oauth/token?x=1#y` },
  });
  const fields = { grant_type: 'authorization_code', code, redirect_uri: client.redirect_uri, code_verifier: verifier };
  const two = `${proof}, ${proof}`;
  assertRefused(await client.post('/oauth/token', fields, { dpop: two }), 400, 'invalid_dpop_proof');
  const { access_token } = tokensOf(await client.post('/oauth/token', fields, { dpop: proof }));
  assertRefused(await client.at(beside).post('/oauth/token', fields, { dpop: proof }), 400, 'invalid_dpop_proof');

  const authorization = `DPoP ${access_token}`;
  const ath = await proofOf(signet, key, userinfo);
  assertRefused(await read(signet, { authorization, dpop: ath }), 401, 'invalid_dpop_proof');
  const once = await proofOf(signet, key, userinfo, { token: access_token });
  const nodes = await Promise.all(
    [signet, beside, signet, beside].map((node) => read(node, { authorization, dpop: once })),
  );
  assert.deepEqual(nodes.map(({ status }) => status).sort(), [200, 401, 401, 401]);
});

testSignet(
  'DP-05: a client whose clock is wrong gets a nonce, which is good for minutes and for its proofs alone',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    const key = await newProofKey();
    const { redeem } = asker(signet, client, key);
    const code = await user.authorize(client);
    const late = { iat: Math.floor(signet.clock() / 1000) - 86_400 };
    const refused = await redeem(code, { claims: late });
    assertRefused(refused, 400, 'use_dpop_nonce');
    const nonce = refused.headers.get('dpop-nonce') ?? assert.fail('no nonce');
    assertRefused(await redeem(code, { claims: { ...late, nonce: `${nonce}x` } }), 400, 'use_dpop_nonce');
    signet.clock.advance(50);
    const { access_token } = tokensOf(await redeem(code, { claims: { ...late, nonce } }));
    const authorization = `DPoP ${access_token}`;
    const withNonce = async () => ({
      authorization,
      dpop: await proofOf(signet, key, userinfo, { token: access_token, claims: { ...late, nonce } }),
    });
    const first = await withNonce();
    assert.equal((await read(signet, first)).status, 200);
    assertRefused(await read(signet, first), 401, 'invalid_dpop_proof');
    signet.clock.advance(600);
    const old = await read(signet, await withNonce());
    assertRefused(old, 401, 'use_dpop_nonce');
    assert.match(old.headers.get('www-authenticate') ?? '', /^DPoP error="use_dpop_nonce"/);
    assert.ok(old.headers.get('dpop-nonce'));
  },
);

testSignet('DP-06: oauth4webapi signs in, refreshes and reads userinfo with a bound token', async ({ signet }) => {
  const user = await signet.signedInUser();
  const registered = await signet.registerClient({ owner: user, dpop_bound_access_tokens: true });
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(signet.url);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  assert.ok(as.dpop_signing_alg_values_supported?.includes('ES256'));
  // Its clock is ours but for userinfo, where it has to ask for a nonce.
  const client: oauth.Client = {
    client_id: registered.client_id,
    [oauth.clockSkew]: Math.floor(signet.clock() / 1000) - Math.floor(Date.now() / 1000),
  };
  const wrong: oauth.Client = { client_id: registered.client_id };
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
  const code_challenge = challengeOf(verifier);
  const answer = await user.browser.get(registered.authorizePath({ code_challenge }));
  const parameters = oauth.validateAuthResponse(as, client, new URL(answer.location ?? ''), 's1');
  const authentication = oauth.ClientSecretBasic(registered.client_secret ?? '');
  const redeemed = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(
      as,
      client,
      authentication,
      parameters,
      registered.redirect_uri,
      verifier,
      { DPoP, ...insecure },
    ),
    { expectedNonce: 'n1' },
  );
  assert.equal(redeemed.token_type, 'dpop');
  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, authentication, redeemed.refresh_token ?? '', {
      DPoP,
      ...insecure,
    }),
  );
  const ask = () => oauth.userInfoRequest(as, wrong, refreshed.access_token, { DPoP, ...insecure });
  const claims = await oauth.processUserInfoResponse(as, wrong, user.user_id, await ask());
  assert.equal(claims.sub, user.user_id);
});

testSignet(
  'DP-07: strangers who prove keys of their own fill nothing by a public client',
  { env: { SIGNET_RATE_LIMITS: 'on', SIGNET_LIMIT_CLIENT_SECRET_FAILURES: '3' } },
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user, client_type: 'public' });
    const { redeem } = asker(signet, client, await newProofKey());
    const code = await user.authorize(client);
    for (let times = 0; times < 3; times += 1)
      assertRefused(await redeem(`ac_${'x'.repeat(43)}`), 400, 'invalid_grant');
    assertRefused(await redeem(code), 429, 'rate_limited');
  },
);
