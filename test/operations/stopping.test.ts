import assert from 'node:assert/strict';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { signedInClient } from '../support/command-line.ts';
import { freePort } from '../support/free-port.ts';
import {
  bareSettings,
  codeFor,
  redeemAt,
  type ServerProcess,
  type Settings,
  startServer,
} from '../support/server-process.ts';
import { until } from '../support/until.ts';

type Answer = { status: number; headers: IncomingMessage['headers']; text: string };

function send(url: string, agent: Agent | undefined, form?: Record<string, string>): Promise<Answer> {
  const body = form && new URLSearchParams(form).toString();
  const headers = form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent, method: form ? 'POST' : 'GET', headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      answer.on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });
}

test('on SIGTERM /readyz fails first, and everybody else is served until the delay is over', async (t) => {
  const operatorPort = await freePort();
  const server = await startServer(t, {
    ...(await bareSettings(t)),
    SIGNET_DRAIN_SECONDS: '2',
    SIGNET_OPERATOR_PORT: String(operatorPort),
  });
  const operators = (path: string) => send(`http://127.0.0.1:${operatorPort}${path}`, undefined);
  assert.deepEqual(JSON.parse((await operators('/readyz')).text), { status: 'ready' });
  const ready = () => send(`${server.url}/readyz`, undefined);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  assert.equal((await ready()).status, 200);
  assert.equal((await send(`${server.url}/signin`, agent)).headers.connection, 'keep-alive');

  const stopped = server.stop('SIGTERM');
  await until('it stops', () => server.said.stderr.includes('"msg":"shutting down'));
  const unready = await ready();
  assert.equal(unready.status, 503);
  assert.ok(unready.headers['retry-after']);
  assert.deepEqual(JSON.parse(unready.text).reasons, ['stopping']);
  assert.equal((await send(`${server.url}/livez`, undefined)).status, 200);
  assert.deepEqual(JSON.parse((await operators('/readyz')).text).reasons, ['stopping']);
  assert.equal((await operators('/livez')).status, 200);
  const last = await send(`${server.url}/signin`, agent);
  assert.deepEqual([last.status, last.headers.connection], [200, 'close']);
  assert.equal((await stopped).code, 0);
});

test('a connection that is idle when the stop begins still gets the answer to its next request', async (t) => {
  const server = await startServer(t, await bareSettings(t));
  const socket = connect({ host: 'localhost', port: Number(server.env.SIGNET_PORT) });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  const ended = new Promise((resolve) => socket.on('close', resolve));
  const ask = () => socket.write(`GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  ask();
  await until('it answers', () => text.endsWith('{"status":"live"}'));
  const stopped = server.stop('SIGTERM');
  await until('it stops', () => server.said.stderr.includes('"msg":"shutting down'));
  await sleep(200); // silent for longer than it takes to stop, but not for long
  ask();
  await ended;
  assert.match(text, /\r\nConnection: close\r\n[^{]*\r\n\{"status":"live"\}$/);
  assert.equal((await stopped).code, 0);
});

type Node = { server: ServerProcess; env: Settings; agent: Agent; isReady: boolean };

/** Two nodes on one store, and what stands before them: a node that says that it is not ready gets no new requests. */
async function twoNodes(t: TestContext) {
  const first = await bareSettings(t);
  const base: Settings = { ...first, SIGNET_DRAIN_SECONDS: '1', SIGNET_RATE_LIMITS: 'off' };
  const second: Settings = { ...base, SIGNET_PORT: String(await freePort()) };
  second.SIGNET_BASE_URL = base.SIGNET_BASE_URL = `http://localhost:${first.SIGNET_PORT}`;
  const nodes: Node[] = [];
  for (const env of [base, second]) {
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    nodes.push({ server: await startServer(t, env), env, agent, isReady: true });
  }
  const watch = setInterval(() => {
    for (const node of nodes) {
      send(`${node.server.url}/readyz`, undefined).then(
        ({ status }) => {
          node.isReady = status === 200;
        },
        () => {
          node.isReady = false;
        },
      );
    }
  }, 50);
  t.after(() => clearInterval(watch));
  return nodes;
}

test('two nodes that are restarted one after the other fail no request', async (t) => {
  const nodes = await twoNodes(t);
  const { browser, client } = await signedInClient(nodes[0]!.server);
  const credentials = { client_id: client.client_id, client_secret: client.client_secret ?? '' };
  const counts = new Map<string, number>();
  let isOver = false;
  async function lane(place: number): Promise<void> {
    let { refresh_token } = await redeemAt(nodes[0]!.server.url, client, await codeFor(browser, client));
    for (let turn = place; !isOver; turn += 1) {
      const ready = nodes.filter(({ isReady }) => isReady);
      const { server, agent } = ready[turn % ready.length] ?? assert.fail('no node is ready');
      const isRefresh = turn % 2 === 0;
      const answer = isRefresh
        ? await send(`${server.url}/oauth/token`, agent, { grant_type: 'refresh_token', refresh_token, ...credentials })
        : await send(`${server.url}/signin`, agent);
      const kind = `${isRefresh ? 'refresh' : 'page'} ${answer.status}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (isRefresh) refresh_token = JSON.parse(answer.text).refresh_token;
      await sleep(20); // some hundred requests a second; as many as possible would only slow the restarts down
    }
  }
  const lanes = Promise.all(Array.from({ length: 8 }, (_, place) => lane(place)));
  for (const node of nodes) {
    const finished = await Promise.race([node.server.stop('SIGTERM'), lanes]);
    assert.equal(finished && 'code' in finished ? finished.code : 'a lane failed', 0);
    node.server = await startServer(t, node.env);
    await until('it is ready', () => node.isReady);
  }
  isOver = true;
  await lanes;
  t.diagnostic(JSON.stringify([...counts]));
  assert.deepEqual([...counts.keys()].sort(), ['page 200', 'refresh 200']);
});
