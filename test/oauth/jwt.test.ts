import assert from 'node:assert/strict';
import { createHash, createHmac, createPublicKey } from 'node:crypto';
import { createServer } from 'node:http';
import { test } from 'node:test';
import * as jose from 'jose';
import { findUserByEmail } from '../../src/accounts/statements.ts';
import { rotateNow } from '../../src/oauth/signing-keys/signing-keys.ts';
import { freePort } from '../support/free-port.ts';
import { assertRefused, claimsOf, type RegisteredClient, redirectedTo, type Tokens } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

/** An independent relying party: jose, the published key set, and nothing of ours. */
const verifyAs = (signet: Signet, audience: string, token: string, typ: string) =>
  jose.jwtVerify(token, jose.createRemoteJWKSet(new URL(`${signet.url}/.well-known/jwks.json`)), {
    issuer: signet.url,
    audience,
    typ,
    algorithms: ['EdDSA', 'RS256'],
    currentDate: new Date(signet.clock()),
  });

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const keySetOf = async (signet: Signet) =>
  (await (await fetch(`${signet.url}/.well-known/jwks.json`)).json()) as { keys: (jose.JWK & { kid: string })[] };

/** Refused wherever an access token opens something, by header and by form. */
async function opensNothing(signet: Signet, client: RegisteredClient, token: string): Promise<void> {
  const inHeader = token.length < 8000 && /^[\w.~+/-]+=*$/.test(token) ? await signet.userinfo(token) : undefined;
  const inForm = await signet.postForm('/oauth/userinfo', { access_token: token });
  for (const answer of inHeader ? [inHeader, inForm] : [inForm]) {
    assertRefused(answer, 401, 'invalid_token');
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
  }
  assert.equal((await client.introspect(token)).text, '{"active":false}');
}

testSignet('JSON Web Tokens', async ({ signet, t }) => {
  const client = await signet.registerClient();
  const rsaClient = await signet.registerClient({ id_token_signed_response_alg: 'RS256' });
  const user = await signet.signedInUser();
  const tokens = await user.obtainTokens(client);
  const rsaTokens = await user.obtainTokens(rsaClient);
  const both: [RegisteredClient, Tokens, string][] = [
    [client, tokens, 'EdDSA'],
    [rsaClient, rsaTokens, 'RS256'],
  ];

  await t.test('JW-01: an access token is an RFC 9068 token that a stranger can verify', async () => {
    for (const [owner, { access_token }, alg] of both) {
      const { payload, protectedHeader } = await verifyAs(signet, owner.client_id, access_token, 'at+jwt');
      assert.deepEqual(Object.keys(protectedHeader).sort(), ['alg', 'kid', 'typ']);
      assert.equal(protectedHeader.alg, alg);
      const { iat, exp, jti, sid, auth_time, ...rest } = payload;
      assert.deepEqual(rest, {
        iss: signet.url,
        sub: user.user_id,
        aud: owner.client_id,
        client_id: owner.client_id,
        scope: 'openid offline_access',
        acr: 'urn:signet:acr:1fa',
        amr: ['pwd'],
      });
      assert.equal(exp! - iat!, 3600);
      assert.ok(jti && sid && Number.isInteger(auth_time));
    }
    assert.notEqual(claimsOf((await user.obtainTokens(client)).access_token).jti, claimsOf(tokens.access_token).jti);
  });

  await t.test('JW-02: no other token passes for an access token', async () => {
    const code = await user.authorize(client);
    const inBody = await signet.postForm('/oauth/userinfo', { access_token: tokens.id_token });
    assertRefused(inBody, 401, 'invalid_token');
    for (const token of [tokens.id_token, tokens.refresh_token, code]) {
      assertRefused(await signet.userinfo(token), 401, 'invalid_token');
    }
    assert.deepEqual((await client.introspect(tokens.id_token)).json, { active: false });
    assert.deepEqual((await client.introspect(code)).json, { active: false });
  });

  await t.test('JW-02: an access token says nothing as id_token_hint, an id token does', async () => {
    const another = await (await signet.signedInUser()).obtainTokens(client);
    const silent = async (id_token_hint: string) =>
      redirectedTo(await user.browser.get(client.authorizePath({ prompt: 'none', id_token_hint })));
    assert.ok((await silent(another.access_token)).get('code'));
    assert.equal((await silent(another.id_token)).get('error'), 'login_required');
  });

  await t.test("JW-03: the algorithm is the key's and never the header's", async () => {
    const { keys } = await keySetOf(signet);
    for (const [owner, { access_token }, alg] of both) {
      const [head = '', claims = '', signature = ''] = access_token.split('.');
      const header = JSON.parse(Buffer.from(head, 'base64url').toString());
      const jwk = keys.find(({ kid }) => kid === header.kid)!;
      const publicKey = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
      const macKeys = [
        publicKey.export({ format: 'pem', type: 'spki' }),
        publicKey.export({ format: 'der', type: 'spki' }),
        JSON.stringify(jwk),
        Buffer.from(jwk.x ?? jwk.n ?? '', 'base64url'),
      ];
      for (const key of macKeys) {
        const input = `${encode({ ...header, alg: 'HS256' })}.${claims}`;
        const mac = createHmac('sha256', key).update(input).digest('base64url');
        await opensNothing(signet, owner, `${input}.${mac}`);
      }
      const wrongHeaders = [
        ...['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'ES256', 'PS256'].map((other) => ({ ...header, alg: other })),
        { ...header, alg: alg === 'EdDSA' ? 'RS256' : 'EdDSA' },
        { ...header, alg: [alg] },
        { ...header, crit: ['exp'] },
        { ...header, b64: false, crit: ['b64'] },
        { ...header, b64: false },
        { ...header, typ: 'JWT' },
        { ...header, typ: 'AT+JWT' },
        { kid: header.kid, typ: 'at+jwt' },
        { ...header, zip: 'DEF' },
      ];
      for (const wrong of wrongHeaders) {
        await opensNothing(signet, owner, `${encode(wrong)}.${claims}.${signature}`);
        await opensNothing(signet, owner, `${encode(wrong)}.${claims}.`);
      }
    }
  });

  await t.test('JW-03: one changed character anywhere spoils a token', async () => {
    const [head = '', claims = '', signature = ''] = tokens.access_token.split('.');
    const altered = JSON.stringify({ ...claimsOf(tokens.access_token), sub: 'usr_somebody' });
    const spoiled = [
      `${head}.${encode(altered)}.${signature}`,
      `${head}.${claims}.${signature.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))}`,
      `${head}.${claims}.${signature}=`,
      `${head}.${claims}.${signature}.`,
      `${head}.${claims}`,
      `${head}..${signature}`,
      `.${claims}.${signature}`,
      `${head}.${claims}.${signature.slice(0, -2)}`,
      `${head}.${claims}=.${signature}`,
      `${head}.${claims}.${signature} `,
      tokens.access_token.toLowerCase(),
      '..',
      '.',
      `${encode('null')}.${encode('null')}.`,
      `${encode('[]')}.${claims}.${signature}`,
    ];
    for (const token of spoiled) await opensNothing(signet, client, token);
    assert.equal((await signet.userinfo(tokens.access_token)).status, 200);
  });

  await t.test('JW-04: a key comes from our own store and from nowhere else', async () => {
    const visits: string[] = [];
    const canary = createServer((request, response) => response.end(void visits.push(request.url ?? '')));
    const port = await freePort();
    await new Promise<void>((resolve) => canary.listen(port, '127.0.0.1', resolve));
    const { publicKey, privateKey } = await jose.generateKeyPair('EdDSA', { extractable: true });
    const jwk = await jose.exportJWK(publicKey);
    const claims = claimsOf(tokens.access_token);
    const sign = (header: Record<string, unknown>) =>
      new jose.SignJWT(claims)
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', ...header } as jose.JWTHeaderParameters)
        .sign(privateKey);
    const { kid } = jose.decodeProtectedHeader(tokens.access_token);
    const url = `http://127.0.0.1:${port}/keys`;
    const forged = await Promise.all(
      [
        { kid },
        { kid, jku: url },
        { kid, x5u: url },
        { jku: url },
        { jwk },
        { kid, jwk },
        { kid, x5c: ['MIIB'] },
        { kid: '../../etc/passwd' },
        { kid: "' OR 1=1--" },
        { kid: 'a\0b' },
        { kid: [kid] },
        { kid: { $ne: '' } },
        { kid: '__proto__' },
        { kid: url },
        { kid: await jose.calculateJwkThumbprint(jwk) },
        { kid: 'k'.repeat(40_000) },
        {},
      ].map(sign),
    );
    const linesBefore = signet.logLines.length;
    for (const token of forged) await opensNothing(signet, client, token);
    assert.deepEqual(visits, []);
    const lines = signet.logLines.slice(linesBefore);
    assert.ok(lines.length <= forged.length * 4 && lines.every((line) => line.length < 1000), 'the log is flooded');
    await new Promise((resolve) => canary.close(resolve));
  });

  await t.test('JW-07: a subject is short ASCII, stays with its user, and is no client', async () => {
    const { sub } = claimsOf(tokens.access_token);
    assert.match(String(sub), /^usr_[\w-]{1,200}$/);
    assert.match(client.client_id, /^cl_/);
    const chosen = { name: 'x', client_type: 'public', redirect_uris: ['https://rp.test/cb'], client_id: sub };
    assertRefused(await user.browser.postJson('/v1/oauth/clients', chosen), 400, 'invalid_request');
    assert.equal((await findUserByEmail(signet.deps, user.email.toUpperCase()))?.user_id, sub);
    assert.equal(claimsOf((await user.obtainTokens(rsaClient)).id_token).sub, sub);
  });

  await t.test('JW-08: an id token has the subject, audience and times, and at_hash fits', async () => {
    for (const [owner, { id_token, access_token }, alg] of both) {
      const { payload, protectedHeader } = await verifyAs(signet, owner.client_id, id_token, 'JWT');
      assert.equal(protectedHeader.alg, alg);
      const full = createHash(alg === 'EdDSA' ? 'sha512' : 'sha256')
        .update(access_token)
        .digest();
      const { iat, exp, sid, auth_time, ...rest } = payload;
      assert.deepEqual(rest, {
        iss: signet.url,
        sub: user.user_id,
        aud: owner.client_id,
        azp: owner.client_id,
        nonce: 'n1',
        at_hash: full.subarray(0, full.length / 2).toString('base64url'),
        acr: 'urn:signet:acr:1fa',
        amr: ['pwd'],
      });
      assert.equal(exp! - iat!, 3600);
      assert.equal(sid, claimsOf(access_token).sid);
      assert.ok(Number(auth_time) <= iat!);
    }
    const strange = `n "${'é'.repeat(20)}<&>\\`;
    const plain = await user.obtainTokens(client, { nonce: undefined });
    assert.ok(!('nonce' in claimsOf(plain.id_token)));
    const exact = await user.obtainTokens(client, { nonce: strange });
    assert.equal(claimsOf(exact.id_token).nonce, strange);
  });

  await t.test('JW-08: auth_time is when the user proved it, and max_age has them prove it again', async () => {
    const visitor = await signet.signedInUser();
    const before = Number(claimsOf((await visitor.obtainTokens(client)).id_token).auth_time);
    signet.clock.advance(100);
    const later = claimsOf((await visitor.obtainTokens(client, { max_age: '100' })).id_token);
    assert.equal(later.auth_time, before);
    assert.equal(later.iat, before + 100);
    const asked = await visitor.browser.get(client.authorizePath({ max_age: '99' }));
    assert.match(asked.location, /^\/signin\?/);
    await visitor.signIn();
    const anew = claimsOf((await visitor.obtainTokens(client, { max_age: '99' })).id_token);
    assert.equal(anew.auth_time, before + 100);
  });

  await t.test("JW-09: a token is for one client, and another one's verifier refuses it", async () => {
    for (const token of [tokens.access_token, tokens.id_token]) {
      assert.equal(claimsOf(token).aud, client.client_id);
      const { typ = '' } = jose.decodeProtectedHeader(token);
      await assert.rejects(verifyAs(signet, rsaClient.client_id, token, typ), /"aud"/);
    }
  });

  await t.test('JW-05: our own endpoints know no leeway: a token ends with its second', async () => {
    const fresh = await user.obtainTokens(client);
    signet.clock.advance(3599);
    assert.equal((await signet.userinfo(fresh.access_token)).status, 200);
    signet.clock.advance(1);
    assertRefused(await signet.userinfo(fresh.access_token), 401, 'invalid_token');
    assert.equal((await client.introspect(fresh.access_token)).text, '{"active":false}');
    await assert.rejects(verifyAs(signet, client.client_id, fresh.access_token, 'at+jwt'), /"exp"/);
  });
});

test('JW-06: the key set shows public members of strong keys, and can be kept for five minutes', async (t) => {
  const signet = await startSignet(t);
  const url = `${signet.url}/.well-known/jwks.json`;
  const answer = await fetch(url);
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=300');
  assert.equal(answer.headers.get('access-control-allow-origin'), '*');
  const { keys } = await keySetOf(signet);
  assert.deepEqual(keys.map(({ alg }) => alg).sort(), ['EdDSA', 'EdDSA', 'RS256', 'RS256']); // active and next
  assert.equal(new Set(keys.map(({ kid }) => kid)).size, 4);
  for (const key of keys) {
    const material = key.kty === 'OKP' ? ['crv', 'x'] : ['e', 'n'];
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'kid', 'kty', 'use', ...material].sort());
    assert.equal(key.use, 'sig');
    assert.equal(key.kid, await jose.calculateJwkThumbprint(key));
    if (key.kty === 'RSA') assert.ok(Buffer.from(key.n!, 'base64url').length >= 256);
    else assert.equal(key.crv, 'Ed25519');
  }
  const etag = answer.headers.get('etag')!;
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await fetch(url, { headers: { 'if-none-match': known } });
    assert.deepEqual([again.status, await again.text()], [304, '']);
  }
  assert.equal((await fetch(url, { headers: { 'if-none-match': '"other"' } })).status, 200);
});

testSignet(
  'JW-06: after a rotation old tokens verify for 65 minutes, and then their key is gone',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    const kidOf = async () => jose.decodeProtectedHeader((await user.obtainTokens(client)).access_token).kid;
    const before = await kidOf();
    const published = (await keySetOf(signet)).keys.map(({ kid }) => kid);

    assert.deepEqual(await rotateNow(signet.deps, { actor: 'cli' }), []); // the next keys have not been published for 15 minutes
    signet.clock.advance(15 * 60);
    const old = await user.obtainTokens(client);
    assert.equal((await rotateNow(signet.deps, { actor: 'cli' })).length, 2);
    signet.clock.advance(1);
    const after = await kidOf();
    assert.notEqual(after, before);
    assert.ok(published.includes(after!), 'it was published before it signs');
    assert.equal((await keySetOf(signet)).keys.length, 6); // retiring, active and next
    await verifyAs(signet, client.client_id, old.access_token, 'at+jwt');

    signet.clock.advance(65 * 60);
    await signet.runJobs();
    await signet.deps.keys.refresh();
    const { keys } = await keySetOf(signet);
    assert.equal(keys.length, 4);
    assert.ok(!keys.some(({ kid }) => kid === before));
  },
);
