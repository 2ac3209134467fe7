import { connect, type Socket } from 'node:net';

/** Where a server listens. */
export type Address = { host: string; port: number };

/** One answer. `body` lives in a buffer that the next read overwrites: copy what you keep. */
export type Answer = { status: number; head: string; body: Buffer };

export type Load = {
  /** How many requests to send in all. */
  count: number;
  /** The next request as it goes over the wire. */
  next: () => Buffer;
  /** The status that every answer must have. */
  status: number;
  /** Text that every good answer has in its head or body; a 200 alone does not say that a token is active. */
  contains: string;
  /** Other than {@link connections}. */
  connections?: number;
  /** Every connection is open, and the first request about to be sent. */
  onReady?: () => void;
  /** @param request whose answer it is. */
  onAnswer?: (answer: Answer, request: Buffer) => void;
};

/**
 * Requests in flight at any moment: one on each keep-alive connection, never pipelined. With half as many no server exceeded
 * 64 000 answers per second on two cores, since the generator rests between two looks at them, and a bare server can.
 */
export const connections = 128;

/**
 * Sends `load.count` requests and waits for every answer.
 *
 * It shares two cores with the server that it measures, so it does little: raw sockets, requests that are bytes
 * already, one reused buffer for each connection, and of an answer only its status line and its length are parsed.
 * @returns answers per second.
 * @throws when any answer is not the expected one: a fast refusal must not count as speed.
 */
export async function run(address: Address, load: Load): Promise<number> {
  const marker = Buffer.from(load.contains, 'latin1');
  const { promise: finished, resolve, reject } = Promise.withResolvers<void>();
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  finished.then(end, end);
  let sent = 0;
  let answered = 0;
  let failed = 0;
  let firstFailure = '';

  const send = (connection: Connection) => {
    if (sent === load.count) return;
    sent += 1;
    connection.request = load.next();
    connection.socket.write(connection.request);
  };
  const onAnswer = (connection: Connection, answer: Answer) => {
    answered += 1;
    if (answer.status === load.status && (answer.body.includes(marker) || answer.head.includes(load.contains))) {
      load.onAnswer?.(answer, connection.request!);
    } else {
      failed += 1;
      firstFailure ||= `${answer.head}\n${answer.body.toString('utf8')}`;
    }
    if (answered === load.count) resolve();
    else send(connection);
  };

  const opening = Array.from({ length: Math.min(load.connections ?? connections, load.count) }, () =>
    openConnection(address, onAnswer, reject),
  );
  try {
    const open = await Promise.all(opening.map(({ connected }) => connected));
    load.onReady?.();
    const startedAt = performance.now();
    for (const connection of open) send(connection);
    setImmediate(collectInBursts, () => isOver);
    await finished;
    const seconds = (performance.now() - startedAt) / 1000;
    if (failed > 0) {
      throw new Error(
        `${failed} of ${load.count} answers were not ${load.status} with ${load.contains}: ${firstFailure}`,
      );
    }
    return load.count / seconds;
  } finally {
    for (const { connection } of opening) connection.socket.destroy();
  }
}

/** The same with at most so many connections. */
export const withFewer = (load: Load, most: number): Load => ({
  ...load,
  connections: Math.min(load.connections ?? connections, most),
});

/** Milliseconds. At the rates measured here a connection waits several for its answer anyway. */
export const restMs = 0.5;
const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/**
 * Sleeps between looks at the sockets and then takes all answers that have come, as a network card coalesces its
 * interrupts. A generator that sleeps in `epoll` is woken by each answer, and on one machine it is the server that pays
 * for waking it: up to a third of its time for a small answer, which says nothing about the server.
 */
function collectInBursts(isOver: () => boolean): void {
  if (isOver()) return;
  Atomics.wait(neverNotified, 0, 0, restMs);
  setImmediate(collectInBursts, isOver);
}

type Connection = { socket: Socket; request?: Buffer };

function openConnection(
  address: Address,
  onAnswer: (connection: Connection, answer: Answer) => void,
  onError: (error: Error) => void,
): { connection: Connection; connected: Promise<Connection> } {
  const { promise: connected, resolve, reject } = Promise.withResolvers<Connection>();
  let partial: Buffer | undefined; // an answer that has not arrived whole
  const socket = connect({
    ...address,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(32 * 1024),
      callback: (length, buffer) => {
        const chunk = (buffer as Buffer).subarray(0, length);
        const bytes = partial ? Buffer.concat([partial, chunk]) : chunk;
        try {
          const answer = parseAnswer(bytes);
          if (answer) {
            partial = undefined;
            onAnswer(connection, answer);
          } else {
            partial = partial ? bytes : Buffer.from(bytes);
          }
        } catch (error) {
          onError(error as Error);
        }
        return true;
      },
    },
  });
  const connection: Connection = { socket };
  const fail = (error: Error) => {
    reject(error);
    onError(error);
  };
  socket.once('connect', () => resolve(connection));
  socket.on('error', fail);
  socket.once('end', () => fail(new Error(`${address.host}:${address.port} closed a connection that was in use.`)));
  return { connection, connected };
}

const endOfHead = Buffer.from('\r\n\r\n');
const endOfLine = Buffer.from('\r\n');

/**
 * @returns undefined when `bytes` is only the beginning of an answer.
 * @throws when it is more than one answer: with one request in flight there is nothing else to come.
 */
export function parseAnswer(bytes: Buffer): Answer | undefined {
  const headLength = bytes.indexOf(endOfHead);
  if (headLength === -1) return undefined;
  const head = bytes.toString('latin1', 0, headLength);
  const status = Number(head.slice(9, 12));
  const bodyStart = headLength + endOfHead.length;

  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (!contentLength && /\r\ntransfer-encoding: *chunked/i.test(head)) {
    const body = parseChunks(bytes, bodyStart);
    return body && { status, head, body };
  }
  if (!contentLength && status !== 204 && status !== 304) {
    throw new Error(`An answer states neither its length nor chunks: ${head}`);
  }
  const end = bodyStart + Number(contentLength?.[1] ?? 0);
  if (bytes.length < end) return undefined;
  if (bytes.length > end) throw new Error(`More bytes than the answer has: ${head}`);
  return { status, head, body: bytes.subarray(bodyStart, end) };
}

function parseChunks(bytes: Buffer, start: number): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf(endOfLine, at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const chunkStart = lineEnd + 2;
    if (bytes.length < chunkStart + size + 2) return undefined;
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(chunkStart, chunkStart + size));
    at = chunkStart + size + 2;
  }
}

export type Headers = Readonly<Record<string, string>>;

export function getRequest(address: Address, path: string, headers: Headers): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${headerLines(address, headers)}\r\n`, 'latin1');
}

/** @param form ASCII, already form-encoded. */
export function formRequest(address: Address, path: string, headers: Headers, form: string): Buffer {
  const lines = headerLines(address, headers);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${lines}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
    'latin1',
  );
}

function headerLines(address: Address, headers: Headers): string {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `Host: localhost:${address.port}\r\nAccept: application/json\r\n${own.join('')}`;
}
