import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createVerifier } from '../src/index.ts';
import { type Changes, type FakeIssuer, json, newKey, paths, startIssuer } from './fake-issuer.ts';
import { refusal } from './refusal.ts';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs what the changes say, and asserts that it is refused as invalid for this reason. */
async function assertInvalid(issuer: FakeIssuer, cases: Record<string, [Changes, RegExp]>): Promise<void> {
  const verify = createVerifier(issuer.options);
  for (const [name, [changes, reason]] of Object.entries(cases)) {
    await refusal(verify(await issuer.sign(changes)), 'invalid_token', reason).catch((error: Error) => {
      error.message = `${name}: ${error.message}`;
      throw error;
    });
  }
  assert.equal((await verify(await issuer.sign())).sub, 'usr_1', 'and the usual one is accepted');
}

test('an access token gives its claims', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  const claims = await verify(
    await issuer.sign({ claims: { sid: 'ses_1', acr: 'urn:signet:acr:2fa', amr: ['pwd', 'otp'] } }),
  );
  assert.deepEqual(
    { ...claims, jti: '' },
    {
      iss: issuer.url,
      sub: 'usr_1',
      aud: 'cl_app',
      client_id: 'cl_app',
      scope: 'openid orders:read',
      iat: issuer.now(),
      exp: issuer.now() + 3600,
      jti: '',
      sid: 'ses_1',
      acr: 'urn:signet:acr:2fa',
      amr: ['pwd', 'otp'],
    },
  );
});

test('only what is typed as an access token is one (RFC 9068 §4)', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/At+Jwt']) {
    await verify(await issuer.sign({ header: { typ } }));
  }
  const types = [
    'JWT',
    'logout+jwt',
    'secevent+jwt',
    'id_token',
    'at',
    'at+jwt ',
    'text/at+jwt',
    'at+jwt+jwt',
    '',
    1,
    null,
  ];
  await assertInvalid(
    issuer,
    Object.fromEntries(
      [...types, undefined, ['at+jwt']].map((typ) => [String(typ), [{ header: { typ } }, /not an access token/]]),
    ),
  );
});

test('an id token and a logout token for the same audience, by the same key, are refused', async (t) => {
  const issuer = await startIssuer(t);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  await assertInvalid(issuer, {
    'id token': [
      { header: { typ: 'JWT' }, claims: { nonce: 'n', at_hash: 'x', azp: 'cl_app' } },
      /not an access token/,
    ],
    'logout token': [{ header: { typ: 'logout+jwt' }, claims: { events } }, /not an access token/],
  });
});

test('issuer and audience are compared whole', async (t) => {
  const issuer = await startIssuer(t);
  const to = (aud: unknown): [Changes, RegExp] => [{ claims: { aud } }, /another audience/];
  const by = (iss: unknown): [Changes, RegExp] => [{ claims: { iss } }, /another issuer/];
  await assertInvalid(issuer, {
    'another client': to('cl_other'),
    'a prefix': to('cl_ap'),
    'a longer name': to('cl_app2'),
    'other capitals': to('CL_APP'),
    'a list of others': to(['cl_other', 'cl_third']),
    'a list in a list': to([['cl_app']]),
    'an empty list': to([]),
    'an object': to({ cl_app: true }),
    'no audience': to(undefined),
    'another issuer': by('https://evil.example'),
    'with a slash': by(`${issuer.url}/`),
    'other capitals of the issuer': by(issuer.url.toUpperCase()),
    'a list of issuers': by([issuer.url]),
    'no issuer': by(undefined),
  });
  const verify = createVerifier({ ...issuer.options, audience: ['cl_app', 'cl_spa'] });
  await verify(await issuer.sign({ claims: { aud: 'cl_spa' } }));
  await verify(await issuer.sign({ claims: { aud: ['cl_other', 'cl_spa'] } }));
});

test('a token for an API has the identifier of the API in its aud, and is for that API alone (RFC 8707 §2, RFC 9068 §4)', async (t) => {
  const issuer = await startIssuer(t);
  const [orders, mail] = ['https://orders.example.com/v1', 'urn:example:mail'];
  const verifierOf = (...audience: string[]) => createVerifier({ ...issuer.options, audience });
  const to = (...aud: string[]) => issuer.sign({ claims: { aud: aud.length === 1 ? aud[0] : aud } });

  await verifierOf(orders)(await to('cl_app', orders));
  await verifierOf(orders)(await to('cl_app', mail, orders));
  await verifierOf(mail)(await to('cl_app', mail));
  await verifierOf(orders, 'https://orders.example.com')(await to('cl_app', orders)); // an identifier that was replaced
  await verifierOf(orders, 'cl_app')(await to('cl_app')); // on the way from one to the other
  await verifierOf(orders, 'cl_app')(await to('cl_app', orders));

  const refused: [Awaited<ReturnType<typeof verifierOf>>, string][] = [
    [verifierOf(orders), await to('cl_app')],
    [verifierOf(orders), await to('cl_app', mail)],
    [verifierOf(orders), await to('cl_app', `${orders}/`)],
    [verifierOf(orders), await to('cl_app', 'https://orders.example.com')],
    [verifierOf(orders), await to('cl_app', 'https://ORDERS.example.com/v1')],
    // The client is in every aud: an API that knows clients only would otherwise take what is meant for another.
    [verifierOf('cl_app'), await to('cl_app', mail)],
    [verifierOf('cl_app', orders), await to('cl_app', mail)],
    [verifierOf('cl_app', orders), await issuer.sign({ claims: { aud: ['cl_app', mail, 7] } })],
  ];
  for (const [verify, token] of refused) await refusal(verify(token), 'invalid_token', /another audience/);
});

test('times: expired, not yet valid, missing, or no numbers', async (t) => {
  const issuer = await startIssuer(t);
  const now = issuer.now();
  const early = /not valid yet/;
  await assertInvalid(issuer, {
    expired: [{ claims: { exp: now - 5 } }, /expired/],
    'no exp': [{ claims: { exp: undefined } }, /lacks a claim/],
    'exp is text': [{ claims: { exp: String(now + 60) } }, /lacks a claim/],
    'issued in the future': [{ claims: { iat: now + 6 } }, early],
    'no iat': [{ claims: { iat: undefined } }, /lacks a claim/],
    'iat is text': [{ claims: { iat: 'now' } }, /lacks a claim/],
    'nbf in the future': [{ claims: { nbf: now + 6 } }, early],
    'nbf is text': [{ claims: { nbf: 'now' } }, early],
    'expires before it was issued': [{ claims: { iat: now + 4, exp: now + 2 } }, /lifetime/],
  });
  // JSON has numbers that are infinite in JavaScript, and a token of that age would never expire.
  const [header = ''] = (await issuer.sign()).split('.');
  const usual = JSON.parse(Buffer.from((await issuer.sign()).split('.')[1] ?? '', 'base64url').toString());
  const payload = JSON.stringify({ ...usual, exp: 0 }).replace('"exp":0', '"exp":1e999');
  const input = `${header}.${Buffer.from(payload).toString('base64url')}`;
  const signature = await crypto.subtle.sign('Ed25519', issuer.keys[0]!.privateKey, Buffer.from(input));
  const verify = createVerifier(issuer.options);
  await refusal(verify(`${input}.${Buffer.from(signature).toString('base64url')}`), 'invalid_token', /lifetime/);
});

test('clocks may differ by the tolerance, and a token ends with it', async (t) => {
  const issuer = await startIssuer(t);
  const [strict, loose] = [0, 60].map((clockTolerance) => createVerifier({ ...issuer.options, clockTolerance }));
  const token = await issuer.sign({ claims: { exp: issuer.now() + 100 } });
  issuer.advance(99);
  await strict!(token);
  issuer.advance(1);
  await refusal(strict!(token), 'invalid_token', /expired/);
  issuer.advance(59);
  await loose!(token);
  issuer.advance(1);
  await refusal(loose!(token), 'invalid_token', /expired/);
});

test('the claims that RFC 9068 demands must be there', async (t) => {
  const issuer = await startIssuer(t);
  const names = ['sub', 'client_id', 'jti', 'scope'];
  const wrong = [undefined, '', null, 1, ['x']];
  await assertInvalid(
    issuer,
    Object.fromEntries(
      names.flatMap((name) =>
        wrong.map((value) => [
          `${name} ${value}`,
          [{ claims: { [name]: value } }, /lacks a claim/] as [Changes, RegExp],
        ]),
      ),
    ),
  );
});

test('a token that is bound to a key is no Bearer token (RFC 7800, OP-02)', async (t) => {
  const issuer = await startIssuer(t);
  await assertInvalid(issuer, {
    DPoP: [{ claims: { cnf: { jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I' } } }, /bound to a key/],
    'mutual TLS': [
      { claims: { cnf: { 'x5t#S256': 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2' } } },
      /bound to a key/,
    ],
    'to nothing that is known': [{ claims: { cnf: null } }, /bound to a key/],
  });
});

test('a header that chooses its key, or names an unknown extension, is refused', async (t) => {
  const issuer = await startIssuer(t);
  const evil = await newKey('first');
  const members = /members that are not accepted/;
  const with_ = (header: Record<string, unknown>): [Changes, RegExp] => [{ header, key: evil }, members];
  await assertInvalid(issuer, {
    jwk: with_({ jwk: evil.jwk }),
    jku: with_({ jku: `${issuer.url}/evil` }),
    x5u: with_({ x5u: `${issuer.url}/evil` }),
    x5c: with_({ x5c: ['MIIB'] }),
    crit: [{ header: { crit: ['urn:test'], 'urn:test': 1 } }, members],
    'b64 true': [{ header: { b64: true } }, members],
    'nested (cty)': [{ header: { cty: 'JWT' } }, members],
    'a key of the attacker under a known kid': [{ key: evil }, /signature/],
    'no kid': [{ header: { kid: undefined } }, /does not name its key/],
    'kid is a number': [{ header: { kid: 1 } }, /does not name its key/],
    'kid is a path': [{ header: { kid: '../../dev/null' } }, /key that the issuer does not have/],
    'kid of a prototype': [{ header: { kid: '__proto__' } }, /key that the issuer does not have/],
  });
  assert.equal(issuer.asked.keys, 2, 'the first key set, and one renewal for all unknown kids');
});

test('none, HMAC and other algorithms are refused before a key is looked up', async (t) => {
  const rsa = await newKey('rsa', 'RS256');
  const issuer = await startIssuer(t, { keys: [await newKey('first'), rsa] });
  const verify = createVerifier(issuer.options);
  const [, payload] = (await issuer.sign()).split('.');
  const algorithm = /algorithm that is not accepted/;
  for (const alg of [
    'none',
    'None',
    'NONE',
    'nOnE',
    '',
    undefined,
    null,
    0,
    ['EdDSA'],
    'eddsa',
    'ES256',
    'PS256',
    'RS512',
  ]) {
    const header = encode({ alg, kid: 'first', typ: 'at+jwt' });
    await refusal(verify(`${header}.${payload}.`), 'invalid_token', algorithm);
    await refusal(verify(`${header}.${payload}.AAAA`), 'invalid_token', algorithm);
  }
  // The public key as the secret of an HMAC (RFC 8725 §2.1), in each form in which a library may hold it.
  for (const secret of [rsa.jwk.n ?? '', JSON.stringify(rsa.jwk), JSON.stringify({ keys: [rsa.jwk] }), '']) {
    const input = `${encode({ alg: 'HS256', kid: 'rsa', typ: 'at+jwt' })}.${payload}`;
    const mac = createHmac('sha256', secret).update(input).digest('base64url');
    await refusal(verify(`${input}.${mac}`), 'invalid_token', algorithm);
  }
  assert.deepEqual(issuer.asked, { metadata: 0, keys: 0, introspection: 0 });
});

test('the algorithm follows from the key', async (t) => {
  const [ed, rsa] = [await newKey('ed'), await newKey('rsa', 'RS256')];
  const issuer = await startIssuer(t, { keys: [ed, rsa] });
  const verify = createVerifier(issuer.options);
  await verify(await issuer.sign({ key: ed }));
  await verify(await issuer.sign({ key: rsa }));
  await verify(await issuer.sign({ key: { ...ed, alg: 'Ed25519' } })); // RFC 9864
  await refusal(verify(await issuer.sign({ key: ed, header: { kid: 'rsa' } })), 'invalid_token');
  await refusal(verify(await issuer.sign({ key: rsa, header: { kid: 'ed' } })), 'invalid_token');
  assert.equal(issuer.asked.keys, 1, 'a key of another kind is not looked for again');

  const [onlyRs256, onlyEd25519] = [['RS256'] as const, ['Ed25519'] as const].map((algorithms) =>
    createVerifier({ ...issuer.options, algorithms }),
  );
  await onlyRs256!(await issuer.sign({ key: rsa }));
  await refusal(onlyRs256!(await issuer.sign({ key: ed })), 'invalid_token', /algorithm/);
  await onlyEd25519!(await issuer.sign({ key: { ...ed, alg: 'Ed25519' } }));
  await refusal(onlyEd25519!(await issuer.sign({ key: ed })), 'invalid_token', /algorithm/);
});

test('keys that must not verify are not used', async (t) => {
  const ed = await newKey('first');
  const issuer = await startIssuer(t, { keys: [ed] });
  const token = await issuer.sign();
  const weak = { ...(await newKey('weak', 'RS256')).jwk, n: Buffer.alloc(128, 0xff).toString('base64url') };
  const sets: [string, unknown, 'invalid_token' | 'unavailable'][] = [
    ['for encryption', [{ ...ed.jwk, use: 'enc' }], 'invalid_token'],
    ['not for verifying', [{ ...ed.jwk, use: undefined, key_ops: ['sign'] }], 'invalid_token'],
    ['of another algorithm', [{ ...ed.jwk, alg: 'ES256' }], 'invalid_token'],
    ['of another curve', [{ ...ed.jwk, crv: 'Ed448' }], 'invalid_token'],
    ['symmetric', [{ kty: 'oct', k: 'c2VjcmV0', kid: 'first', alg: 'HS256' }], 'invalid_token'],
    ['no objects', [null, 1, 'x', [], {}], 'invalid_token'],
    ['broken', [{ ...ed.jwk, x: 'AA' }], 'unavailable'],
    ['too many', Array.from({ length: 101 }, () => ed.jwk), 'unavailable'],
    ['no list', {}, 'unavailable'],
  ];
  for (const [, keys, code] of sets) {
    issuer.answers[paths.keys] = json({ keys });
    await refusal(createVerifier(issuer.options)(token), code);
  }
  issuer.answers[paths.keys] = json({ keys: [weak] });
  const rs256 = [encode({ alg: 'RS256', kid: 'weak', typ: 'at+jwt' }), token.split('.')[1], 'AAAA'].join('.');
  await refusal(createVerifier(issuer.options)(rs256), 'invalid_token', /signature/);
  // A set that is careless with other members is still one of public keys.
  issuer.answers[paths.keys] = json({
    keys: [{ ...ed.jwk, key_ops: ['verify'], d: 'AA', use: undefined, alg: undefined }],
  });
  await createVerifier(issuer.options)(token);
});

test('what is no token is refused without a request, and one token has one spelling', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  const token = await issuer.sign();
  const [header = '', payload = '', signature = ''] = token.split('.');
  const junk = [
    '',
    '.',
    '..',
    '...',
    'a.b',
    'a.b.c.d',
    `${token}.`,
    ` ${token}`,
    `${token}\n`,
    token.replace('.', '..'),
  ];
  const encoded = [
    `${header}=.${payload}.${signature}`,
    `${header}.${payload}.${signature}=`,
    `${header}.${payload}.+/`,
  ];
  const json = ['null', '[]', '1', '"x"', '{', ''].map(
    (text) => `${Buffer.from(text).toString('base64url')}.${payload}.AA`,
  );
  const notText = [undefined, null, 1, {}, [token], Buffer.from(token)] as unknown as string[];
  for (const one of [...junk, ...encoded, ...json, ...notText]) {
    await refusal(verify(one), 'invalid_token', /not a signed JWT|not an access token/);
  }
  assert.deepEqual(issuer.asked, { metadata: 0, keys: 0, introspection: 0 });
  assert.equal(signature.length, 86); // 64 bytes: four bits of the last character are not used
  const others = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    .split('')
    .map((last) => token.slice(0, -1) + last)
    .filter((other) => other !== token);
  for (const other of others) await refusal(verify(other), 'invalid_token');
  await verify(token);
});

test('a token may have 8192 characters and no more', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  const empty = (await issuer.sign({ claims: { more: '', jti: 'j' } })).length;
  const withLength = (more: number) => issuer.sign({ claims: { more: 'x'.repeat(more), jti: 'j' } });
  const max = Math.floor(((8192 - empty) * 3) / 4);
  const fits = await withLength(max);
  assert.ok(fits.length > 8180 && fits.length <= 8192, String(fits.length));
  await verify(fits);
  await refusal(verify(await withLength(max + 9)), 'invalid_token', /not a signed JWT/);
  const long = 'A'.repeat(50_000_000);
  const before = process.cpuUsage();
  await refusal(verify(long), 'invalid_token');
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 1_000_000, 'and length costs nothing');
});

test('a token without the scope is refused with what it needs', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier({ ...issuer.options, scope: 'openid' });
  const token = await issuer.sign();
  await verify(token, { scope: 'orders:read' });
  await verify(token, { scope: ['orders:read', 'openid'] });
  await verify(token, { scope: '' });
  for (const scope of ['orders:write', 'orders', 'orders:read orders:write', 'ORDERS:READ', 'orders:read,openid']) {
    const error = await refusal(verify(token, { scope }), 'insufficient_scope');
    assert.equal(
      error.wwwAuthenticate,
      `Bearer realm="${issuer.url}", error="insufficient_scope", error_description="${error.message}", scope="openid ${scope}"`,
    );
  }
  await refusal(verify(await issuer.sign({ claims: { scope: 'orders:read' } })), 'insufficient_scope');
  const claims = await verify(token);
  verify.requireScope(claims, 'orders:read');
  assert.throws(() => verify.requireScope(claims, 'orders:write'), { code: 'insufficient_scope', status: 403 });
  await assert.rejects(verify(token, { scope: 'a"b' }), TypeError, 'it would break out of the header');
});

test('an Authorization header: Bearer in any case, one token, one header (RFC 6750 §2.1)', async (t) => {
  const issuer = await startIssuer(t);
  const { authorization } = createVerifier({ ...issuer.options, realm: 'orders' });
  const token = await issuer.sign();
  for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`, [`Bearer ${token}`]]) {
    assert.equal((await authorization(header)).sub, 'usr_1');
  }
  for (const header of [undefined, null, '', [], 'Basic eDp5', `Bearers ${token}`, token, `DPoP ${token}`]) {
    const error = await refusal(authorization(header), 'missing_token');
    assert.equal(error.wwwAuthenticate, 'Bearer realm="orders"', 'a request without a token gets no error code');
  }
  const malformed = ['Bearer', 'Bearer ', `Bearer\t${token}`, `Bearer ${token} x`, `Bearer ${token}, Bearer ${token}`];
  for (const header of [...malformed, 'Bearer "x"', 'Bearer a=b', 'Bearer,x', 'Bearer \u{1f600}', [token, token]]) {
    const error = await refusal(authorization(header), 'invalid_request');
    assert.match(error.wwwAuthenticate ?? '', /^Bearer realm="orders", error="invalid_request", error_description="/);
  }
  await refusal(authorization([`Bearer ${token}`, `Bearer ${token}`]), 'invalid_request', /more than one/);
  await refusal(authorization(`Bearer ${'='.repeat(100_000)}`), 'invalid_request');
  await refusal(authorization('Bearer abc=='), 'invalid_token');
});

test('options that make no sense are refused when the verifier is made', async (t: TestContext) => {
  const good = { issuer: 'https://id.example.com', audience: 'cl_app' };
  const issuers = ['', 'id.example.com', 'ftp://id.example.com', 'http://id.example.com', 'https://u:p@id.example.com'];
  const more = [
    'https://id.example.com?x',
    'https://id.example.com#x',
    'https://id.example.com/"',
    'https://id.example.com/tenant', // Signet has none with a path
    'http://localhost.evil.example',
  ];
  for (const issuer of [
    ...issuers,
    ...more,
    'http://127.0.0.1.evil.example',
    'https://id.example.com\n',
    'https://id.example.com/',
  ]) {
    assert.throws(() => createVerifier({ ...good, issuer }), TypeError, issuer);
  }
  for (const issuer of ['http://localhost:3000', 'http://127.0.0.1', 'http://[::1]:3000']) {
    createVerifier({ ...good, issuer });
  }
  const introspection = { clientId: 'sc_1', clientSecret: 's' };
  const wrong: object[] = [
    { audience: [] },
    { audience: '' },
    { audience: undefined },
    { audience: ['cl_app', ''] },
    { algorithms: [] },
    { algorithms: ['none'] },
    { algorithms: ['HS256'] },
    { scope: 'a"b' },
    { clockTolerance: -1 },
    { clockTolerance: 301 },
    { clockTolerance: Number.NaN },
    { timeout: 0 },
    { keyCooldown: 0 },
    { maxStaleKeys: Number.POSITIVE_INFINITY },
    { realm: 'a"b' },
    { realm: 'a\r\nb' },
    { introspection: { ...introspection, clientSecret: '' } },
    { introspection: { ...introspection, cacheSeconds: 61 } },
    { introspection: { ...introspection, cacheSize: -1 } },
  ];
  for (const options of wrong) {
    assert.throws(() => createVerifier({ ...good, ...options }), TypeError, JSON.stringify(options));
  }
  t.diagnostic(`${wrong.length} refused`);
});
