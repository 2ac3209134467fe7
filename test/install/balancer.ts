import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { ask } from '../support/browser.ts';

export type Balancer = {
  url: string;
  /** Answers by node and status: `0 200`. */
  counts: Map<string, number>;
};

/**
 * What stands before several nodes: each request goes to the next one whose `/readyz` answers 200, and none is repeated.
 * @param nodes their addresses.
 */
export async function startBalancer(t: TestContext, nodes: readonly string[]): Promise<Balancer> {
  const counts = new Map<string, number>();
  const ready = new Set<string>();
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const watch = setInterval(() => {
    for (const node of nodes) {
      void ask(`${node}/readyz`)
        .then(({ status }) => status === 200)
        .catch(() => false)
        .then((isReady) => (isReady ? ready.add(node) : ready.delete(node)));
    }
  }, 50);
  const server = createServer((incoming, answer) => {
    const node = [...ready].sort()[turn++ % Math.max(ready.size, 1)];
    const refuse = (error: Error) => {
      count(node, error.message);
      answer.writeHead(502).end(error.message);
    };
    if (node === undefined) return refuse(new Error('no node is ready'));
    const headers = { ...incoming.headers, 'x-forwarded-for': incoming.socket.remoteAddress };
    const { method } = incoming;
    const outgoing = request(new URL(incoming.url ?? '/', node), { method, headers, agent }, (response) => {
      count(node, String(response.statusCode));
      const { connection, ...said } = response.headers;
      answer.writeHead(response.statusCode ?? 502, said);
      response.pipe(answer);
    });
    outgoing.on('error', refuse);
    incoming.pipe(outgoing);
  });
  function count(node: string | undefined, result: string): void {
    const key = `${node === undefined ? '' : nodes.indexOf(node)} ${result}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  server.listen(0, 'localhost');
  await once(server, 'listening');
  afterTest(t, () => {
    clearInterval(watch);
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, counts };
}
