import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Options, type Signet, startSignet } from '../support/signet.ts';

/** A line between browsers and the server, under whose address they know it. */
export type Proxy = {
  /** How much later than the server's answer the browser gets that of a POST. The server is asked at once. */
  postDelayMs: number;
  /** Names of request headers that do not get through. */
  withheld: RegExp | undefined;
  /** Of each request for a page, as the browser sent it. */
  requests: { method: string; path: string; headers: IncomingHttpHeaders }[];
};

export async function startProxiedSignet(t: TestContext, options: Options = {}): Promise<Signet & { proxy: Proxy }> {
  const proxy: Proxy = { postDelayMs: 0, withheld: undefined, requests: [] };
  let port = 0;
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    if (!path.startsWith('/assets/')) proxy.requests.push({ method, path, headers });
    const passed = Object.entries(headers).filter(([name]) => !proxy.withheld?.test(name));
    const onward = send({ host: '127.0.0.1', port, method, path, headers: Object.fromEntries(passed) });
    onward.on('response', async (answer) => {
      if (method === 'POST') await sleep(proxy.postDelayMs);
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders);
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
