import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Options, type Signet, startSignet } from '../support/signet.ts';

/** A line between browsers and the server, under whose address they know it. */
type Proxy = {
  /** How much later than the server's answer the browser gets that of a POST. The server is asked at once. */
  postDelayMs: number;
  /** While set, no answer to a POST gets through before it is settled. */
  held: Promise<unknown> | undefined;
  /** Names of request headers that do not get through. */
  withheld: RegExp | undefined;
  /** Paths that do not get through: the browser gets a 404. */
  missing: RegExp | undefined;
  /** Of each request for a page, as the browser sent it. */
  requests: { method: string; path: string; headers: IncomingHttpHeaders }[];
  /** What browsers report of what a Content-Security-Policy has held back. */
  violations: string[];
};

export type ProxiedSignet = Signet & { proxy: Proxy };

const reports = '/violations';

export async function startProxiedSignet(t: TestContext, options: Options = {}): Promise<ProxiedSignet> {
  const proxy: Proxy = {
    postDelayMs: 0,
    held: undefined,
    withheld: undefined,
    missing: undefined,
    requests: [],
    violations: [],
  };
  let port = 0;
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    if (path === reports) {
      proxy.violations.push(await text(incoming));
      return outgoing.writeHead(204).end();
    }
    if (proxy.missing?.test(path)) return outgoing.writeHead(404).end();
    if (!path.startsWith('/assets/')) proxy.requests.push({ method, path, headers });
    const passed = Object.entries(headers).filter(([name]) => !proxy.withheld?.test(name));
    const onward = send({ host: '127.0.0.1', port, method, path, headers: Object.fromEntries(passed) });
    onward.on('response', async (answer) => {
      if (method === 'POST') await Promise.all([sleep(proxy.postDelayMs), proxy.held]);
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders.map(withReports));
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const signet = await startSignet(t, { ...options, env: { ...options.env, SIGNET_BASE_URL: url } });
  port = signet.deps.config.port;
  return Object.assign(signet, { proxy });
}

/** Names and values of headers in turn: a policy follows its name. */
const withReports = (text: string, place: number, all: readonly string[]): string =>
  place % 2 === 1 && all[place - 1]!.toLowerCase() === 'content-security-policy'
    ? `${text}; report-uri ${reports}`
    : text;
