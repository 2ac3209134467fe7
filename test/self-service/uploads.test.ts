import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pngOf } from '../support/pictures.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

const content = pngOf().toString('base64');

testSignet('a body of the size of a picture is read only for a user who is signed in', async ({ signet }) => {
  const { port } = new URL(signet.url);
  for (const [start, status] of [
    ['POST /account/picture', 303],
    ['PUT /v1/me/picture', 401],
  ] as const) {
    const head = [
      `${start} HTTP/1.1`,
      `Host: localhost:${port}`,
      `Origin: ${signet.url}`,
      'Accept: text/html',
      'Content-Type: multipart/form-data; boundary=b',
      'Content-Length: 300000',
    ];
    const { text } = await sendRaw(Number(port), `${head.join('\r\n')}\r\n\r\n`);
    assert.ok(text.startsWith(`HTTP/1.1 ${status} `), `${start}: ${text}`);
  }
});

testSignet('a user has two uploads in progress at most, and others go on', async ({ signet, t }) => {
  const [user, other] = [await signet.signedInUser(), await signet.signedInUser()];
  const { port } = new URL(signet.url);
  const cookie = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const refused: string[] = [];
  for (let number = 0; number < 5; number += 1) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    socket.on('data', (bytes) => refused.push(`${bytes}`.slice(0, 12)));
    sockets.push(socket);
    const head = [
      'PUT /v1/me/picture HTTP/1.1',
      `Host: localhost:${port}`,
      `Origin: ${signet.url}`,
      `Cookie: ${cookie}`,
      'Content-Type: application/json',
      'Content-Length: 300000',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n{`);
  }
  const upload = ({ browser }: typeof user) =>
    browser.send('/v1/me/picture', {
      method: 'PUT',
      body: JSON.stringify({ content }),
      headers: { origin: signet.url, 'content-type': 'application/json' },
    });
  await until('three are refused', () => refused.length === 3);
  assert.deepEqual([...new Set(refused)], ['HTTP/1.1 503']);
  assert.equal((await upload(user)).status, 503);
  assert.equal((await upload(other)).status, 200);
  for (const socket of sockets) socket.destroy();
  await until('there is a place again', async () => (await upload(user)).status === 200);
});

testSignet(
  'a network of addresses holds half of the places for uploads at most, and others upload',
  { env: { SIGNET_TRUST_PROXY: '1', SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, t }) => {
    const { port } = new URL(signet.url);
    const sockets: Socket[] = [];
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    const refused: string[] = [];
    const headers = { origin: signet.url, 'content-type': 'application/json' };
    const put = { method: 'PUT', body: JSON.stringify({ content }) };
    // Two networks within a /48 of IPv6 are one, since one site may have both.
    for (let number = 0; number < 17; number += 1) {
      const user = await signet.signedInUser();
      const cookie = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
      for (const place of [1, 2]) {
        const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
        socket.on('data', (bytes) => refused.push(`${bytes}`.slice(0, 12)));
        sockets.push(socket);
        const head = [
          'PUT /v1/me/picture HTTP/1.1',
          `Host: localhost:${port}`,
          `Origin: ${signet.url}`,
          `Cookie: ${cookie}`,
          `X-Forwarded-For: 2001:db8:1:${place}::${number + 1}`,
          'Content-Type: application/json',
          'Content-Length: 300000',
        ];
        socket.write(`${head.join('\r\n')}\r\n\r\n{`);
      }
    }
    await until('two are refused', () => refused.length === 2);
    assert.deepEqual([...new Set(refused)], ['HTTP/1.1 503']);
    const { browser } = await signet.signedInUser();
    const from = (address: string) =>
      browser.send('/v1/me/picture', { ...put, headers: { ...headers, 'x-forwarded-for': address } });
    assert.equal((await from('2001:db8:1:3::1')).status, 503);
    assert.equal((await from('2001:db8:2::1')).status, 200);
    assert.equal((await from('203.0.113.9')).status, 200);
    for (const socket of sockets) socket.destroy();
    await until('there is a place again', async () => (await from('2001:db8:1:3::1')).status === 200);
  },
);

testSignet('an upload that is given up before its user is known is not counted', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const { port } = new URL(signet.url);
  const cookie = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
  for (let number = 0; number < 2; number += 1) {
    const part = signet.deps.db.of(user.user_id);
    const { query } = part;
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    part.query = async (statement) => {
      reached.resolve();
      await released.promise;
      return query(statement);
    };
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    t.after(() => socket.destroy());
    const closed = once(signet.app.server, 'connection').then(([connection]) => once(connection, 'close'));
    const head = ['PUT /v1/me/picture HTTP/1.1', `Host: localhost:${port}`, `Cookie: ${cookie}`, 'Content-Length: 9'];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await reached.promise;
    socket.destroy();
    await closed;
    part.query = query;
    released.resolve();
  }
  const picture = { method: 'PUT', body: JSON.stringify({ content }) };
  const headers = { origin: signet.url, 'content-type': 'application/json' };
  assert.equal((await user.browser.send('/v1/me/picture', { ...picture, headers })).status, 200);
});
