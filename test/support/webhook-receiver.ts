import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

export type ReceivedDelivery = { headers: IncomingHttpHeaders; body: string; path: string };

/** A target of webhooks. `status` is what it answers, and may be changed; while it `holds` it answers nothing. */
export type Receiver = {
  url: string;
  deliveries: ReceivedDelivery[];
  status: number;
  /** What it says, and never ends if it `drips`. */
  body?: string | Buffer;
  drips?: boolean;
  location?: string;
  holds?: boolean;
};

export async function openReceiver(t: TestContext): Promise<Receiver> {
  const receiver: Receiver = { url: '', deliveries: [], status: 204 };
  const server = createServer(async (request, response) => {
    receiver.deliveries.push({ headers: request.headers, body: await text(request), path: request.url ?? '' });
    if (receiver.holds) return;
    response.writeHead(receiver.status, receiver.location ? { location: receiver.location } : {});
    if (receiver.drips) response.write(receiver.body ?? '');
    else response.end(receiver.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
