import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A session of the pooler. Its backend is the pool's as soon as no answer is due and no transaction is open. */
type Session = { client: Socket; backend: Socket | undefined; due: number; waiting: Buffer[]; isReady: boolean };

/** What PgBouncer does not pass on of what a session begins with: it refuses it, or ignores what it was told to. */
const settings = ['options', 'statement_timeout', 'idle_in_transaction_session_timeout'];
type Pooling = { settings?: 'passed on' | 'refused' | 'ignored'; keepsSessions?: boolean };

/**
 * PgBouncer's `pool_mode = transaction` in small: each transaction runs on the connection that was free last,
 * whichever session opened it, and each session gets a number of our own making for its backend.
 * @param pooling `keepsSessions`: as `pool_mode = session`.
 * @returns the address of the server as seen through the pool.
 */
export async function transactionPooler(
  t: TestContext,
  serverUrl: string,
  { settings: given = 'passed on', keepsSessions = false }: Pooling = {},
): Promise<string> {
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
    if (keepsSessions || session.due > 0 || message.toString('latin1', 5) !== 'I') return;
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
      const refused = type === '' && given === 'refused' && settings.find((name) => message.includes(`\0${name}\0`));
      if (refused) return client.end(errorResponse('08P01', `unsupported startup parameter: ${refused}`));
      session.waiting.push(type === '' && given === 'ignored' ? withoutSettings(message) : message);
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

function errorResponse(code: string, text: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Of a StartupMessage: a length, the version of the protocol, and names and values in turn. */
function withoutSettings(message: Buffer): Buffer {
  const parts = message.toString('latin1', 8).split('\0').slice(0, -2);
  const kept = parts.filter((_, index) => !settings.includes(parts[index - (index % 2)]!));
  const changed = Buffer.concat([message.subarray(0, 8), Buffer.from(`${kept.join('\0')}\0\0`, 'latin1')]);
  changed.writeUInt32BE(changed.length, 0);
  return changed;
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
