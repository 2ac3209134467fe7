import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { isIpAddress, subnetList } from '../../ip-address.ts';
import { request as requestHttp } from '../node-http.ts';
import { forbiddenTarget, guardedLookup, isReachable } from './reachable.ts';
import { hostResolver } from './resolve-host.ts';

/** How long a target may take for its answer, the body apart. */
export const answerTimeoutMs = 10_000;
/** How long the body of an answer may take: a target that sends it byte by byte delays only itself, and not for long. */
const bodyTimeoutMs = 1000;
/** Responses of the class 1xx before the answer (RFC 9110 §15.2). A target that sends nothing else would stop the event loop. */
const maxInterim = 10;

export type OutboundRequest = {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Bytes from the beginning of the answer's body that are read; 0: nothing of it, and the connection ends with the head. */
  readBytes: number;
};

/** `body`: as much of it as was to be read and has arrived in time; `isWhole` if there was no more. */
export type OutboundAnswer = {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
  isWhole: boolean;
};

export type Outbound = {
  /**
   * Follows no redirect, and reaches no internal address that the operator does not allow.
   * @throws {InternalTarget} An error of the connection, whose `code` says what came instead of an answer.
   */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
};

/** The client for requests to addresses that users name: webhooks, and whatever a client registers of itself. */
export function openOutbound(deps: { clock: Clock; config: Pick<Config, 'webhookInternal'> }): Outbound {
  const resolveHost = hostResolver(deps);

  async function send({ method, url: target, headers, body, readBytes }: OutboundRequest): Promise<OutboundAnswer> {
    const url = new URL(target);
    const allowed = subnetList(deps.config.webhookInternal);
    // No name is looked up for a literal address.
    if (isIpAddress(url.hostname) && !isReachable(url.protocol, url.hostname, allowed))
      throw forbiddenTarget(url.protocol);
    const lookup = guardedLookup(resolveHost, url.protocol, allowed);
    const request = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
    const sized = { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) };
    return new Promise((resolve, reject) => {
      let isAnswered = false;
      const fail = (error: Error) => {
        if (!isAnswered) reject(error); // else the answer counts, whatever becomes of its body
      };
      const signal = AbortSignal.timeout(answerTimeoutMs);
      const sent = request(url, { method, headers: sized, signal, lookup, agent: false }, (answer) => {
        isAnswered = true;
        beginningOf(answer, readBytes).then((read) => resolve(answerOf(answer, read)), reject);
      });
      sent.on('error', fail);
      let interim = 0;
      sent.on('information', () => {
        interim += 1;
        if (interim > maxInterim) sent.destroy(Object.assign(new Error(), { code: 'too many interim responses' }));
      });
      sent.on('upgrade', (answer, socket) => {
        socket.destroy();
        resolve(answerOf(answer, Buffer.alloc(0)));
      });
      sent.on('close', () => fail(new Error('The connection was closed without a response.'))); // after all else
      sent.end(body);
    });
  }

  return { send };
}

const answerOf = ({ statusCode = 0, headers, complete }: IncomingMessage, body: Buffer): OutboundAnswer => ({
  status: statusCode,
  headers,
  body,
  isWhole: complete,
});

/** The first bytes of an answer, or as many as arrive in time. Its connection is closed. */
async function beginningOf(answer: IncomingMessage, bytes: number): Promise<Buffer> {
  const read = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const end = () => {
    clearTimeout(timer);
    answer.destroy();
    read.resolve(Buffer.concat(chunks).subarray(0, bytes));
  };
  const timer = setTimeout(end, bodyTimeoutMs);
  answer.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= bytes) end();
  });
  answer.on('error', () => {}); // it closes next
  answer.on('close', end);
  if (bytes === 0) end();
  return read.promise;
}
