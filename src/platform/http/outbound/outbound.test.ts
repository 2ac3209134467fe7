import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fetchJson } from './fetch-json.ts';
import { fetchForOperator } from './operator-fetch.ts';
import { openOutbound } from './outbound.ts';
import { InternalTarget } from './reachable.ts';

/** Answers each connection with the next text. */
async function listen(t: TestContext, answers: string[]): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(answers.shift() ?? ''));
    t.after(() => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
const outbound = openOutbound({ clock: () => 0, config: { webhookInternal: ['127.0.0.1'] } });
const post = { method: 'POST', headers: {}, body: '', readBytes: 0 } as const;

test('a target that answers with interim responses and nothing else is cut off', async (t) => {
  const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
  const answers = [`${interim.repeat(10)}HTTP/1.1 204 No Content\r\n\r\n`, interim.repeat(11)];
  const url = await listen(t, answers);
  const send = () => outbound.send({ ...post, url });
  assert.equal((await send()).status, 204);
  await assert.rejects(send(), { code: 'too many interim responses' });
});

test('no more of an answer is read than was to be, and a redirect is an answer', async (t) => {
  const answer = 'HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 100000\r\n\r\n';
  const url = await listen(
    t,
    Array.from({ length: 3 }, () => answer + 'x'.repeat(3000)),
  );
  const sent = await outbound.send({ ...post, url, readBytes: 2000 });
  assert.deepEqual([sent.status, sent.headers.location, sent.body.length], [307, '/elsewhere', 2000]);
  assert.equal((await outbound.send({ ...post, url })).body.length, 0);
  const fetched = await fetchForOperator(url, {}, 2000);
  assert.deepEqual([fetched.status, fetched.headers.get('location'), fetched.isTooLarge], [307, '/elsewhere', true]);
});

test('an internal address is refused before a connection, as a literal and by its name', async (t) => {
  const url = await listen(t, []);
  const strict = openOutbound({ clock: () => 0, config: { webhookInternal: [] } });
  for (const target of [url, url.replace('127.0.0.1', 'localhost'), 'https://127.0.0.1/', 'https://localhost/'])
    await assert.rejects(strict.send({ ...post, url: target }), InternalTarget, target);
});

test('a document is read whole or refused: too large, cut, no JSON, a redirect, an internal address', async (t) => {
  const response = (body: string, head = '200 OK', length = body.length) =>
    `HTTP/1.1 ${head}\r\ncontent-length: ${length}\r\n\r\n${body}`;
  const large = JSON.stringify('x'.repeat(1022));
  const url = await listen(t, [
    response(large),
    response(`${large} `),
    response('{"a":1}', '200 OK', 8),
    response('{"a":1', '200 OK'),
    response('', '302 Found\r\nlocation: /elsewhere'),
    response('{}', '404 Not Found'),
  ]);
  const fetched = async (from = outbound) => {
    const read = await fetchJson({ outbound: from }, { url, accept: 'application/json', maxBytes: 1024 });
    return 'json' in read ? read.json : read.problem;
  };
  assert.equal(await fetched(), 'x'.repeat(1022));
  assert.equal(await fetched(), 'It responded with more than 1 KB.');
  assert.equal(await fetched(), 'Its response did not arrive as a whole within a second.');
  assert.equal(await fetched(), 'It responded with no JSON.');
  assert.equal(await fetched(), 'It redirects (302), which is not followed.');
  assert.equal(await fetched(), 'It responded with 404.');
  assert.match(String(await fetched(openOutbound({ clock: () => 0, config: { webhookInternal: [] } }))), /INTERNAL/);
});
