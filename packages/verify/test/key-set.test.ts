import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { until } from '../../../test/support/until.ts';
import { createVerifier } from '../src/index.ts';
import { failing, json, newKey, paths, silent, startIssuer } from './fake-issuer.ts';
import { refusal } from './refusal.ts';

const day = 86_400;

test('nothing is fetched before the first token, and once for a hundred at a time', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  assert.equal(issuer.asked.metadata, 0);
  const token = await issuer.sign();
  await Promise.all(Array.from({ length: 100 }, () => verify(token)));
  assert.deepEqual(issuer.asked, { metadata: 1, keys: 1, introspection: 0 });
});

test('the key set is kept for its max-age, less the time in caches, within bounds', async (t) => {
  const issuer = await startIssuer(t);
  const cases: [Record<string, string>, number][] = [
    [{ 'cache-control': 'public, max-age=300' }, 300],
    [{ 'cache-control': 'max-age=300', age: '100' }, 200],
    [{ 'cache-control': 'MAX-AGE="90"' }, 90],
    [{ 'cache-control': 's-maxage=50, max-age=120' }, 120],
    [{}, 300],
    [{ 'cache-control': 'max-age=0' }, 30],
    [{ 'cache-control': 'no-store, max-age=500' }, 30],
    [{ 'cache-control': 'max-age=60', age: '9000' }, 30],
    // A next key is published 15 minutes before use: it must be read in time.
    [{ 'cache-control': 'max-age=86400' }, 600],
    [{ 'cache-control': 'max-age=nonsense', age: 'x' }, 300],
  ];
  const keys = issuer.keys.map(({ jwk }) => jwk);
  for (const [headers, seconds] of cases) {
    issuer.answers[paths.keys] = json({ keys }, headers);
    const verify = createVerifier(issuer.options);
    const token = await issuer.sign();
    await verify(token);
    const before = issuer.asked.keys;
    issuer.advance(seconds - 1);
    await verify(token);
    assert.equal(issuer.asked.keys, before, JSON.stringify(headers));
    issuer.advance(1);
    await verify(token);
    assert.equal(issuer.asked.keys, before + 1, JSON.stringify(headers));
  }
});

test('a withdrawn key is refused once the set is read again', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  const token = await issuer.sign();
  await verify(token);
  issuer.keys = [await newKey('other')];
  issuer.advance(300);
  await refusal(verify(token), 'invalid_token', /key that the issuer does not have/);
});

test('a new key works at once, though its kid was unknown a moment ago', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  await verify(await issuer.sign());
  issuer.keys = [await newKey('second'), ...issuer.keys];
  await Promise.all(Array.from({ length: 20 }, async () => verify(await issuer.sign())));
  assert.deepEqual(issuer.asked, { metadata: 1, keys: 2, introspection: 0 });
});

test('a flood of unknown kids causes one fetch per cooldown, and refuses no other token', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  const next = await newKey('next');
  issuer.keys = [...issuer.keys, next];
  const token = await issuer.sign();
  await verify(token);
  const attacker = await newKey('x');
  let sent = 0;
  const flood = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        sent += 1;
        const forged = await issuer.sign({ key: { ...attacker, kid: `random-${sent}` } });
        await refusal(verify(forged), 'invalid_token', /key that the issuer does not have/);
      }),
    );
  const before = issuer.asked.keys;
  for (let second = 0; second < 120; second += 1) {
    await flood(10);
    await verify(token);
    // The issuer begins to sign with the key that it had published.
    await verify(await issuer.sign({ key: next }));
    issuer.advance(1);
  }
  const fetched = issuer.asked.keys - before;
  t.diagnostic(
    `${sent} forged tokens in 120 s: ${fetched} fetches of the key set, ${issuer.asked.metadata} of the metadata`,
  );
  assert.equal(sent, 1200);
  assert.ok(fetched <= 4, `${fetched} fetches`);
  assert.equal(issuer.asked.metadata, 1);
});

test('a flood while the issuer is down asks it once per cooldown, too', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  const token = await issuer.sign();
  await verify(token);
  issuer.answers[paths.keys] = failing;
  const attacker = { ...(await newKey('x')), kid: 'unknown' };
  const forged = await issuer.sign({ key: attacker });
  issuer.advance(300);
  const before = issuer.asked.keys;
  for (let second = 0; second < 120; second += 1) {
    // The issuer may have a key of that name by now, so the token is not called invalid.
    await refusal(verify(forged), 'unavailable');
    await verify(token);
    issuer.advance(1);
  }
  const fetched = issuer.asked.keys - before;
  t.diagnostic(`${fetched} attempts in 120 s`);
  assert.ok(fetched <= 9, `${fetched}: one for the token and one for the flood per cooldown`);
});

test('while the issuer is down its keys are used for a bounded time, and its return is noticed', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier({ ...issuer.options, maxStaleKeys: 600 });
  const token = await issuer.sign({ claims: { exp: issuer.now() + day } });
  await verify(token);
  issuer.answers[paths.keys] = failing;
  issuer.advance(300 + 599);
  await verify(token);
  issuer.advance(1);
  await refusal(verify(token), 'unavailable');
  const down = issuer.asked.keys;
  for (let tries = 0; tries < 20; tries += 1) await refusal(verify(token), 'unavailable');
  assert.ok(issuer.asked.keys <= down + 1, 'nor is an issuer that is down asked for each request');
  delete issuer.answers[paths.keys];
  issuer.advance(2);
  await verify(token);

  const none = createVerifier({ ...issuer.options, maxStaleKeys: 0 });
  await none(token);
  issuer.answers[paths.keys] = failing;
  issuer.advance(300);
  await refusal(none(token), 'unavailable');
});

test('no request waits for an issuer that is known not to answer, while its keys may be used', async (t) => {
  const issuer = await startIssuer(t);
  let patience = Promise.withResolvers<never>();
  const impatient: typeof fetch = (...request) => Promise.race([fetch(...request), patience.promise]);
  const endPatience = () => {
    patience.reject(new Error('It took too long.'));
    patience = Promise.withResolvers();
  };
  const asked = (count: number) => until(`the keys are asked for ${count} times`, () => issuer.asked.keys === count);
  const verify = createVerifier({ ...issuer.options, fetch: impatient, timeout: 60 });
  const token = await issuer.sign();
  await verify(token);
  issuer.answers[paths.keys] = silent;
  issuer.advance(300);
  const first = verify(token); // waits for the time limit, once
  await asked(2);
  endPatience();
  await first;
  issuer.advance(30);
  for (let tries = 0; tries < 50; tries += 1) await verify(token); // while the keys are asked for, without an answer
  await asked(3);
  delete issuer.answers[paths.keys];
  endPatience();
  await nextTurn(); // the attempt has failed before the clock moves on
  issuer.advance(30);
  await until('the keys are asked for again', async () => (await verify(token)) && issuer.asked.keys === 4);
  issuer.advance(299);
  await verify(token);
  assert.equal(issuer.asked.keys, 4, 'fresh again');
});

test('an issuer that is down at the start is asked every two seconds', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  issuer.answers[paths.metadata] = failing;
  const token = await issuer.sign();
  const error = await refusal(verify(token), 'unavailable');
  assert.match(String(error.cause), /answered 500/);
  assert.equal(error.headers['retry-after'], '5');
  for (let tries = 0; tries < 20; tries += 1) await refusal(verify(token), 'unavailable');
  assert.equal(issuer.asked.metadata, 1);
  delete issuer.answers[paths.metadata];
  issuer.advance(2);
  await verify(token);
});

test('a clock that is set back prolongs nothing', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier(issuer.options);
  await verify(await issuer.sign());
  issuer.advance(-7200);
  issuer.keys = [await newKey('second')];
  await verify(await issuer.sign());
  issuer.answers[paths.keys] = failing;
  issuer.advance(-7200);
  await refusal(verify(await issuer.sign()), 'unavailable');
});

test('metadata of another issuer, or that leads elsewhere, is not used (RFC 8414 §3.3)', async (t) => {
  const issuer = await startIssuer(t);
  const { url } = issuer;
  const jwks_uri = url + paths.keys;
  const other = await startIssuer(t);
  const cases: [string, unknown][] = [
    ['another issuer', { issuer: other.url, jwks_uri }],
    ['a slash more', { issuer: `${url}/`, jwks_uri }],
    ['no issuer', { jwks_uri }],
    ['keys of another origin', { issuer: url, jwks_uri: other.url + paths.keys }],
    ['keys on another port', { issuer: url, jwks_uri: 'http://127.0.0.1:1/keys' }],
    ['keys in a file', { issuer: url, jwks_uri: 'file:///etc/passwd' }],
    ['keys in the address', { issuer: url, jwks_uri: 'data:application/json,{"keys":[]}' }],
    ['no keys', { issuer: url }],
    ['keys: a list', { issuer: url, jwks_uri: [jwks_uri] }],
    ['a list', [{ issuer: url, jwks_uri }]],
    ['null', null],
  ];
  for (const [name, metadata] of cases) {
    issuer.answers[paths.metadata] = json(metadata);
    await refusal(createVerifier(issuer.options)(await issuer.sign()), 'unavailable').catch((error: Error) => {
      throw new Error(`${name}: ${error.message}`);
    });
  }
  assert.deepEqual([issuer.asked.keys, other.asked.keys], [0, 0]);
});

test('no redirect is followed', async (t) => {
  const issuer = await startIssuer(t);
  const other = await startIssuer(t, { keys: issuer.keys });
  for (const status of [301, 302, 303, 307, 308]) {
    issuer.answers[paths.keys] = (_request, response) =>
      void response.writeHead(status, { location: other.url + paths.keys }).end();
    await refusal(createVerifier(issuer.options)(await issuer.sign()), 'unavailable');
  }
  assert.equal(other.asked.keys, 0);
});

test('an answer that is too long, too slow, cut off, or no JSON is not used', async (t) => {
  const issuer = await startIssuer(t);
  const token = await issuer.sign();
  const verify = (timeout = 60) => createVerifier({ ...issuer.options, timeout })(token);
  const set = JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) });

  let written = 0;
  issuer.answers[paths.keys] = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && written < 1e9) {
        written += 65_536;
        if (!response.write(' '.repeat(65_536))) return;
      }
    };
    response.on('drain', more);
    more();
  };
  const long = await refusal(verify(), 'unavailable');
  assert.match(String(long.cause), /more than 262144 bytes/);
  await sleep(100);
  assert.ok(written < 50e6, `${written} bytes were taken`);

  // 257 KB of spaces become 300 bytes on the wire: what counts is what must be held.
  issuer.answers[paths.keys] = (_request, response) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(' '.repeat(300_000) + set));
  await refusal(verify(), 'unavailable');

  issuer.answers[paths.keys] = silent;
  assert.match(String((await refusal(verify(0.5), 'unavailable')).cause), /within 0.5 s/);
  issuer.answers[paths.keys] = (_request, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(drip));
  };
  await refusal(verify(0.5), 'unavailable');

  issuer.answers[paths.keys] = (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write(set);
    setTimeout(() => response.destroy(), 50);
  };
  await refusal(verify(), 'unavailable');
  for (const body of ['', 'nonsense', '<html>', Buffer.from([0xff, 0xfe]), '{"keys":[],"keys":{}}', 'null']) {
    issuer.answers[paths.keys] = (_request, response) => void response.writeHead(200).end(body);
    await refusal(verify(), 'unavailable');
  }
  issuer.answers[paths.keys] = (_request, response) => void response.writeHead(201).end(set);
  await refusal(verify(), 'unavailable');
});

test('a fetch of the caller is used, and the time limit holds though it ignores its signal', async (t) => {
  const issuer = await startIssuer(t);
  const asked: string[] = [];
  const counting: typeof fetch = (input, init) => {
    asked.push(String(input));
    return fetch(input, init);
  };
  await createVerifier({ ...issuer.options, fetch: counting })(await issuer.sign());
  assert.deepEqual(asked, [issuer.url + paths.metadata, issuer.url + paths.keys]);
  const never = () => new Promise<Response>(() => undefined);
  await refusal(createVerifier({ ...issuer.options, fetch: never, timeout: 0.1 })(await issuer.sign()), 'unavailable');
  const throwing = () => {
    throw new Error('no network');
  };
  await refusal(createVerifier({ ...issuer.options, fetch: throwing })(await issuer.sign()), 'unavailable');
});
