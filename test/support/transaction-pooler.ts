import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A session of the pooler. Its backend is the pool's as soon as no answer is due and no transaction is open. */
type Session = { client: Socket; backend: Socket | undefined; due: number; waiting: Buffer[]; isReady: boolean };

/**
 * PgBouncer's `pool_mode = transaction` in small: each transaction runs on the connection that was free last,
 * whichever session opened it, and each session gets a number of our own making for its backend.
 * @returns the address of the server as seen through the pool.
 */
export async function transactionPooler(t: TestContext, serverUrl: string): Promise<string> {
  const target = new URL(serverUrl);
  const free: Socket[] = [];
  const served = new Map<Socket, Session>();
  const sockets = new Set<Socket>();

  function pass(session: Session): void {
    if (session.waiting.length === 0) return;
    session.backend ??= free.pop();
    if (!session.backend) return;
    served.set(session.backend, session);
    for (const chunk of session.waiting.splice(0)) session.backend.write(chunk);
  }

  function answer(backend: Socket, type: string, message: Buffer): void {
    const session = served.get(backend);
    if (!session) return;
    if (type === 'K') message.writeUInt32BE(4_000_000, 5); // BackendKeyData
    session.client.write(message);
    if (type !== 'Z') return; // ReadyForQuery
    if (session.isReady) session.due -= 1;
    session.isReady = true;
    if (session.due > 0 || message.toString('latin1', 5) !== 'I') return;
    session.backend = undefined;
    served.delete(backend);
    free.push(backend);
    for (const other of sessions) if (!other.backend) pass(other);
  }

  const sessions = new Set<Session>();
  const listener = createServer((client) => {
    const backend = connect(Number(target.port), target.hostname);
    const session: Session = { client, backend, due: 0, waiting: [], isReady: false };
    sessions.add(session);
    served.set(backend, session);
    messagesOf(backend, true, (type, message) => answer(backend, type, message));
    messagesOf(client, false, (type, message) => {
      if (session.isReady && (type === 'S' || type === 'Q')) session.due += 1;
      if (type === 'X') return; // Terminate: the backend stays in the pool
      session.waiting.push(message);
      pass(session);
    });
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('close', () => sessions.delete(session));
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  const url = new URL(serverUrl);
  url.port = String((listener.address() as AddressInfo).port);
  return url.href;
}

/** The wire protocol's messages, whole: a type, and a length that counts itself. A client's first one has no type. */
function messagesOf(socket: Socket, isTyped: boolean, take: (type: string, message: Buffer) => void): void {
  let typed = isTyped;
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const start = typed ? 1 : 0;
      if (rest.length < start + 4) return;
      const length = start + rest.readUInt32BE(start);
      if (rest.length < length) return;
      take(typed ? rest.toString('latin1', 0, 1) : '', Buffer.from(rest.subarray(0, length)));
      rest = rest.subarray(length);
      typed = true;
    }
  });
}
