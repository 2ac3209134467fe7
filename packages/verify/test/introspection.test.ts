import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVerifier, type IntrospectionOptions } from '../src/index.ts';
import { type FakeIssuer, failing, json, newKey, paths, silent, startIssuer } from './fake-issuer.ts';
import { refusal } from './refusal.ts';

const credentials = { clientId: 'sc_1:a', clientSecret: 'se cret/ä' };
const verifier = (issuer: FakeIssuer, more: Partial<IntrospectionOptions> = {}) =>
  createVerifier({ ...issuer.options, timeout: 60, introspection: { ...credentials, ...more } });

test('the issuer is asked with Basic credentials, and about tokens that are valid by themselves only', async (t) => {
  const issuer = await startIssuer(t);
  const verify = verifier(issuer);
  const token = await issuer.sign();
  await verify(token);
  const [asked] = issuer.introspections;
  assert.equal(asked?.form.get('token'), token);
  const basic = Buffer.from(asked?.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  assert.equal(basic, 'sc_1%3Aa:se%20cret%2F%C3%A4', 'form-encoded first (RFC 6749 §2.3.1)');
  await refusal(verify(await issuer.sign({ key: await newKey('first') })), 'invalid_token');
  await refusal(verify(await issuer.sign({ claims: { aud: 'cl_other' } })), 'invalid_token');
  await refusal(verify(await issuer.sign(), { scope: 'admin' }), 'insufficient_scope');
  await verify(await issuer.sign(), { introspect: false });
  assert.equal(issuer.asked.introspection, 1);
});

test('an answer is used again for the cache time, also a negative one', async (t) => {
  const issuer = await startIssuer(t);
  const verify = verifier(issuer, { cacheSeconds: 10 });
  const [token, revoked] = [await issuer.sign(), await issuer.sign()];
  await Promise.all(Array.from({ length: 50 }, () => verify(token)));
  assert.equal(issuer.asked.introspection, 1, 'one request for all at a time');
  issuer.answers[paths.introspection] = json({ active: false });
  await Promise.all(Array.from({ length: 50 }, () => refusal(verify(revoked), 'invalid_token', /no longer active/)));
  assert.equal(issuer.asked.introspection, 2);
  issuer.advance(9.9);
  await verify(token);
  await refusal(verify(revoked), 'invalid_token');
  assert.equal(issuer.asked.introspection, 2);
  issuer.advance(0.1);
  await refusal(verify(token), 'invalid_token', /no longer active/);
  issuer.answers[paths.introspection] = json({ active: true });
  await verify(revoked);
  assert.equal(issuer.asked.introspection, 4);
  issuer.advance(-5); // a clock that is set back
  await verify(revoked);
  assert.equal(issuer.asked.introspection, 5);

  const uncached = verifier(issuer, { cacheSeconds: 0 });
  for (let times = 0; times < 3; times += 1) await uncached(token);
  assert.equal(issuer.asked.introspection, 8);
});

test('no answer outlives its token', async (t) => {
  const issuer = await startIssuer(t);
  const verify = verifier(issuer, { cacheSeconds: 60 });
  const token = await issuer.sign({ claims: { exp: issuer.now() + 3 } });
  await verify(token);
  issuer.advance(4); // within the tolerance, in which the token itself is accepted
  await verify(token);
  assert.equal(issuer.asked.introspection, 2);
});

test('the cache has a size, and the oldest answer makes room', async (t) => {
  const issuer = await startIssuer(t);
  const verify = verifier(issuer, { cacheSize: 3, cacheSeconds: 60 });
  const tokens = await Promise.all([1, 2, 3, 4].map(() => issuer.sign()));
  for (const token of tokens) await verify(token);
  for (const token of tokens.slice(1)) await verify(token);
  assert.equal(issuer.asked.introspection, 4);
  await verify(tokens[0]!);
  assert.equal(issuer.asked.introspection, 5);
  const none = verifier(issuer, { cacheSize: 0 });
  for (let times = 0; times < 3; times += 1) await none(tokens[0]!);
  assert.equal(issuer.asked.introspection, 8);
});

test('the scope is the one that the client may have now, never more than the token has', async (t) => {
  const issuer = await startIssuer(t);
  const verify = verifier(issuer, { cacheSeconds: 0 });
  const token = await issuer.sign();
  issuer.answers[paths.introspection] = json({ active: true, scope: 'openid admin' });
  assert.equal((await verify(token)).scope, 'openid');
  await refusal(verify(token, { scope: 'orders:read' }), 'insufficient_scope');
  await refusal(verify(token, { scope: 'admin' }), 'insufficient_scope');
  issuer.answers[paths.introspection] = json({ active: true });
  assert.equal((await verify(token)).scope, 'openid orders:read');
});

test('without a usable answer the token is refused with 503, or accepted where that was chosen', async (t) => {
  const issuer = await startIssuer(t);
  /** One that refuses, and one that accepts; they have the keys. */
  const both = async (timeout: number) => {
    const options = { ...issuer.options, timeout };
    const verifiers = (['refuse', 'accept'] as const).map((whenUnavailable) =>
      createVerifier({ ...options, introspection: { ...credentials, whenUnavailable } }),
    );
    for (const one of verifiers) await one(await issuer.sign(), { introspect: false });
    return verifiers as [(typeof verifiers)[0], (typeof verifiers)[0]];
  };
  const [patient, impatient] = [await both(60), await both(2)];
  const status =
    (code: number) =>
    (_request: unknown, response: { writeHead(code: number): { end(): unknown } }): void =>
      void response.writeHead(code).end();
  const answers = {
    failing,
    silent,
    unauthorized: status(401),
    forbidden: status(403),
    'too many': status(429),
    redirect: status(302),
    'active is text': json({ active: 'true' }),
    'active is 1': json({ active: 1 }),
    'no active': json({}),
    'a list': json([{ active: true }]),
    'another subject': json({ active: true, sub: 'usr_2' }),
    'another client': json({ active: true, client_id: 'cl_other' }),
    'another token': json({ active: true, jti: 'gr_2.1' }),
    'another issuer': json({ active: true, iss: 'https://evil.example' }),
  };
  for (const [name, answer] of Object.entries(answers)) {
    issuer.answers[paths.introspection] = answer;
    const [verify, accepting] = answer === silent ? impatient : patient;
    const token = await issuer.sign();
    const error = await refusal(verify(token), 'unavailable');
    assert.ok(error.cause instanceof Error, name);
    assert.doesNotMatch(
      `${error.cause.stack} ${error.stack}`,
      new RegExp(`${token.slice(-20)}|se cret|se%20cret`),
      name,
    );
    assert.equal((await accepting(token)).sub, 'usr_1', name);
  }
  issuer.answers[paths.introspection] = json({ active: false });
  await refusal(patient[1](await issuer.sign()), 'invalid_token', /no longer active/);
  delete issuer.answers[paths.introspection];
  await patient[0](await issuer.sign());
});

test('credentials go to the origin of the issuer only', async (t) => {
  const issuer = await startIssuer(t);
  const other = await startIssuer(t);
  const metadata = { issuer: issuer.url, jwks_uri: issuer.url + paths.keys };
  for (const introspection_endpoint of [other.url + paths.introspection, undefined, 'x', ['x']]) {
    issuer.answers[paths.metadata] = json({ ...metadata, introspection_endpoint });
    await refusal(verifier(issuer)(await issuer.sign()), 'unavailable');
  }
  delete issuer.answers[paths.metadata];
  issuer.answers[paths.introspection] = (_request, response) =>
    void response.writeHead(307, { location: other.url + paths.introspection }).end();
  await refusal(verifier(issuer)(await issuer.sign()), 'unavailable');
  assert.equal(other.asked.introspection, 0);
});
