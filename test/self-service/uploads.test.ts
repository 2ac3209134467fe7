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

testSignet('an upload that is given up before its user is known is not counted', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const { port } = new URL(signet.url);
  const cookie = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
  for (let number = 0; number < 2; number += 1) {
    const { db } = signet.deps;
    const { query } = db;
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    db.query = async (statement) => {
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
    db.query = query;
    released.resolve();
  }
  const picture = { method: 'PUT', body: JSON.stringify({ content }) };
  const headers = { origin: signet.url, 'content-type': 'application/json' };
  assert.equal((await user.browser.send('/v1/me/picture', { ...picture, headers })).status, 200);
});
