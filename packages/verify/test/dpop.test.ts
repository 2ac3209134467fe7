import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { createVerifier, type DpopOptions, usedProofsInMemory } from '../src/index.ts';
import { startIssuer } from './fake-issuer.ts';
import { refusal } from './refusal.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

async function holder(alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const prove = (claims: Record<string, unknown>, header: Record<string, unknown> = {}) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header } as { alg: string })
      .sign(privateKey);
  return { jwk, prove, privateJwk: await exportJWK(privateKey), thumbprint: await calculateJwkThumbprint(jwk) };
}

const url = 'https://api.example.com';

/** A verifier that accepts bound tokens, a token of this holder's key, and a request with a proof of it. */
async function bound(t: TestContext, dpop: DpopOptions = {}, alg?: string) {
  const issuer = await startIssuer(t);
  const verify = createVerifier({ ...issuer.options, audience: [url, 'cl_app'], realm: 'api', dpop });
  const key = await holder(alg);
  const token = await issuer.sign({ claims: { cnf: { jkt: key.thumbprint } } });
  let proofs = 0;
  /** The claims of a proof that is right for `GET /orders`. */
  const right = () => {
    proofs += 1;
    return { htm: 'GET', htu: `${url}/orders`, iat: issuer.now(), jti: `proof-${proofs}`, ath: sha256(token) };
  };
  const ask = (
    proof: string | string[] | undefined,
    { scheme = 'DPoP', method = 'GET', path = '/orders', sent = token } = {},
  ) => verify.authorization(`${scheme} ${sent}`, { dpop: { proof, method, path } });
  return { issuer, verify, key, token, right, ask };
}

test('a token that is bound to a key is accepted with a proof of it, for any key that a client may have (RFC 9449 §7.1)', async (t) => {
  for (const alg of ['ES256', 'PS256', 'EdDSA', 'Ed25519']) {
    const { ask, key, right, token, verify } = await bound(t, {}, alg);
    assert.deepEqual((await ask(await key.prove(right()), { scheme: 'dpop', path: '/orders?page=2' })).cnf, {
      jkt: key.thumbprint,
    });
    const headers = { authorization: `DPoP ${token}`, dpop: await key.prove(right()) };
    assert.equal((await verify.request(new Request(`${url}/orders?page=2`, { headers }))).sub, 'usr_1');
    // Behind a proxy the server sees another scheme and host, which do not count.
    const inside = { authorization: `DPoP ${token}`, dpop: await key.prove(right()) };
    assert.equal((await verify.request(new Request('http://10.0.0.7:8080/orders', { headers: inside }))).sub, 'usr_1');
  }
});

test('htu is compared with the public URL and the path, whatever Host says, normalized and without a query (RFC 9449 §4.3)', async (t) => {
  const { ask, key, right } = await bound(t, { publicUrl: 'https://example.com/api/' });
  const at = async (htu: unknown, path = '/orders') => ask(await key.prove({ ...right(), htu }), { path });
  await at('https://example.com/api/orders');
  await at('https://EXAMPLE.com:443/api/orders?x=1#y');
  await at('https://example.com/api/a%7Eb%2f', '/a~b%2F?x');
  const others = ['https://example.com/orders', 'https://example.com/api/orders/', 'http://example.com/api/orders'];
  for (const htu of [
    ...others,
    'https://evil.example/api/orders',
    'https://example.com/api/ORDERS',
    '/api/orders',
    undefined,
    7,
  ]) {
    await refusal(at(htu), 'invalid_dpop_proof', /another address/);
  }
  for (const path of ['@evil.example/orders', '.evil.example/orders', 'https://evil.example/orders', '']) {
    await refusal(at(`https://example.com/api${path}`, path), 'invalid_dpop_proof', /another address/);
  }
});

test('OP-02: whatever makes a proof none is refused, and says nothing of what was sent (RFC 9449 §4.3)', async (t) => {
  const { ask, issuer, key, right, token } = await bound(t);
  const other = await holder();
  const rsa = await generateKeyPair('RS256');
  const now = issuer.now();
  const { jti: _, ...withoutId } = right();
  const cases: [string, string | string[] | undefined, RegExp][] = [
    ['none', undefined, /is required/],
    ['none, as a list', [], /is required/],
    ['two headers', [await key.prove(right()), await key.prove(right())], /more than one DPoP header/],
    ['two, joined', `${await key.prove(right())}, ${await key.prove(right())}`, /more than one DPoP header/],
    ['no JWT', 'evil', /not a signed JWT/],
    ['too long', await key.prove({ ...right(), evil: 'x'.repeat(9000) }), /not a signed JWT/],
    ['another type', await key.prove(right(), { typ: 'JWT' }), /not one/],
    ['no type', await key.prove(right(), { typ: undefined }), /not one/],
    ['no key', await key.prove(right(), { jwk: undefined }), /not one/],
    ['a private key', await key.prove(right(), { jwk: key.privateJwk }), /not one/],
    ['a secret as key', await key.prove(right(), { jwk: { kty: 'oct', k: 'eA' } }), /not one/],
    ['the key of another', await other.prove(right(), { jwk: key.jwk }), /not one/],
    ['by another key', await other.prove(right()), /another key/],
    [
      'RS256',
      await new SignJWT(right())
        .setProtectedHeader({ alg: 'RS256', typ: 'dpop+jwt', jwk: (await exportJWK(rsa.publicKey)) as JWK })
        .sign(rsa.privateKey),
      /not one/,
    ],
    [
      'unsigned',
      `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'dpop+jwt', jwk: key.jwk })).toString('base64url')}.${Buffer.from(JSON.stringify(right())).toString('base64url')}.`,
      /not/,
    ],
    ['expired', await key.prove({ ...right(), exp: now - 61 }), /not one/],
    ['another token', await key.prove({ ...right(), ath: sha256(`${token}x`) }), /another access token/],
    ['no token', await key.prove({ ...right(), ath: undefined }), /another access token/],
    ['another method', await key.prove({ ...right(), htm: 'POST' }), /another method/],
    ['another case of it', await key.prove({ ...right(), htm: 'get' }), /another method/],
    ['old', await key.prove({ ...right(), iat: now - 61 }), /not made just now/],
    ['of the future', await key.prove({ ...right(), iat: now + 61 }), /not made just now/],
    ['without a time', await key.prove({ ...right(), iat: undefined }), /not made just now/],
    ['without an id', await key.prove(withoutId), /no jti/],
    ['with an empty id', await key.prove({ ...right(), jti: '' }), /no jti/],
  ];
  for (const [name, proof, reason] of cases) {
    const error = await refusal(ask(proof), 'invalid_dpop_proof', reason).catch((thrown: Error) => {
      throw new Error(`${name}: ${thrown.message}`);
    });
    assert.doesNotMatch(JSON.stringify(error.body) + error.wwwAuthenticate, /evil/);
    assert.equal(
      error.wwwAuthenticate,
      `DPoP realm="api", error="invalid_dpop_proof", error_description="${error.message}", algs="ES256 PS256 EdDSA Ed25519", Bearer realm="api"`,
    );
  }
  for (const iat of [now - 60, now + 60]) await ask(await key.prove({ ...right(), iat }));
});

test('a bound token is no Bearer token, and an unbound one is not sent as DPoP; the challenge names both schemes (RFC 9449 §7.2)', async (t) => {
  const { ask, issuer, key, right, verify, token } = await bound(t);
  const proof = await key.prove(right());
  const algs = 'DPoP realm="api", algs="ES256 PS256 EdDSA Ed25519"';
  const asBearer = await refusal(ask(proof, { scheme: 'Bearer' }), 'invalid_token', /no Bearer token/);
  assert.equal(
    asBearer.wwwAuthenticate,
    `Bearer realm="api", error="invalid_token", error_description="${asBearer.message}", ${algs}`,
  );
  await refusal(verify(token), 'invalid_token', /no Bearer token/);
  const plain = await issuer.sign();
  assert.equal((await ask(undefined, { scheme: 'Bearer', sent: plain })).sub, 'usr_1');
  await refusal(
    ask(await key.prove({ ...right(), ath: sha256(plain) }), { sent: plain }),
    'invalid_token',
    /bound to no key/,
  );
  for (const cnf of [{}, { 'x5t#S256': 'a' }, { jkt: 7 }, 'x', null, { jkt: key.thumbprint, 'x5t#S256': 'a' }]) {
    const odd = await issuer.sign({ claims: { cnf } });
    await refusal(
      ask(await key.prove({ ...right(), ath: sha256(odd) }), { sent: odd }),
      'invalid_token',
      /not accepted/,
    );
  }
  assert.equal(
    (await refusal(verify.authorization(undefined), 'missing_token')).wwwAuthenticate,
    `Bearer realm="api", ${algs}`,
  );

  const strict = createVerifier({ ...issuer.options, audience: url, realm: 'api', dpop: { required: true } });
  const refused = await refusal(
    strict.authorization(`Bearer ${await issuer.sign({ claims: { aud: ['cl_app', url] } })}`),
    'invalid_token',
    /must be bound/,
  );
  assert.match(refused.wwwAuthenticate ?? '', /^DPoP realm="api", error="invalid_token", [^,]+, algs="[\w ]+"$/);

  const without = createVerifier(issuer.options);
  await refusal(without(token), 'invalid_token', /no Bearer token/);
  await refusal(
    without.authorization(`DPoP ${token}`, { dpop: { proof, method: 'GET', path: '/orders' } }),
    'missing_token',
  );
});

test('OP-02: a proof is accepted once, also of two at the same time, and only a right one is remembered (RFC 9449 §11.1)', async (t) => {
  const { ask, issuer, key, right } = await bound(t);
  const used = await key.prove(right());
  const both = await Promise.allSettled([ask(used), ask(used)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  await refusal(ask(used), 'invalid_dpop_proof', /used before/);
  issuer.advance(60);
  await refusal(ask(used), 'invalid_dpop_proof', /used before/);
  issuer.advance(1);
  await refusal(ask(used), 'invalid_dpop_proof', /not made just now/);

  const claims = right();
  await refusal(ask(await key.prove({ ...claims, htm: 'PUT' })), 'invalid_dpop_proof', /another method/);
  await ask(await key.prove(claims));
});

test('what several processes share decides for all of them; without an answer the request is refused with 503', async (t) => {
  const seen = new Map<string, number>();
  const usedProofs = {
    use: async (key: string, expiresAt: number) => !seen.has(key) && Boolean(seen.set(key, expiresAt)),
  };
  const { ask, issuer, key, right, token, verify } = await bound(t, { usedProofs });
  const elsewhere = createVerifier({ ...issuer.options, audience: [url, 'cl_app'], dpop: { usedProofs } });
  const dpop = { proof: await key.prove(right()), method: 'GET', path: '/orders' };
  await verify(token, { dpop });
  await refusal(elsewhere(token, { dpop }), 'invalid_dpop_proof', /used before/);
  const [[remembered, until] = []] = seen;
  assert.match(remembered ?? '', /^[\w-]{43}$/);
  assert.equal(until, issuer.now() + 61);

  usedProofs.use = async () => Promise.reject(new Error('redis://secret'));
  const error = await refusal(ask(await key.prove(right())), 'unavailable');
  assert.doesNotMatch(JSON.stringify([error.body, error.headers]), /secret/);
});

test('memory is bounded: when it is full the window gets narrower, and no proof is accepted twice', () => {
  let now = 1000;
  const { use } = usedProofsInMemory({ size: 3, now: () => now * 1000 });
  assert.deepEqual([use('a', 1010), use('b', 1011), use('c', 1012), use('a', 1010)], [true, true, true, false]);
  assert.equal(use('d', 1013), true, 'the first is forgotten');
  assert.deepEqual([use('a', 1010), use('z', 1010)], [false, false], 'and with it what would expire as early');
  assert.deepEqual([use('b', 1011), use('c', 1012), use('d', 1013)], [false, false, false]);
  now = 1020;
  assert.deepEqual(
    [use('e', 1030), use('f', 1030), use('g', 1030)],
    [true, true, true],
    'what has expired takes no place',
  );
  now = 1005;
  assert.deepEqual([use('d', 1013), use('e', 1030)], [false, false], 'nor is it new when the clock is set back');
});

test('options that make no sense are refused when the verifier is made', async (t) => {
  const { options } = await startIssuer(t);
  const wrong: [DpopOptions, string[]][] = [
    [{}, ['cl_app']],
    [{}, [url, 'https://other.example']],
    [{ publicUrl: 'api.example.com' }, [url]],
    [{ publicUrl: `${url}?x` }, [url]],
    [{ proofWindow: 0 }, [url]],
    [{ proofWindow: 301 }, [url]],
  ];
  for (const [dpop, audience] of wrong) assert.throws(() => createVerifier({ ...options, audience, dpop }), TypeError);
});
