import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RequestError } from '../errors.ts';
import { bareAnswer } from './bare-answer.ts';

type Exchange = { request: IncomingMessage; response: ServerResponse };

const current = new AsyncLocalStorage<Exchange>();
const newest = new WeakMap<Socket, Exchange>();

/** Whatever `work` starts, timers and callbacks included, belongs to that request. */
export function runInRequest(exchange: Exchange, work: () => void): void {
  newest.set(exchange.request.socket, exchange);
  current.run(exchange, work);
}

/** The request that came last on a connection, for errors in the bytes that follow its headers. */
export const latestRequestOn = (socket: Socket): Exchange | undefined => newest.get(socket);

/**
 * For an exception that no promise of a request has caught: answers that request with a bare 500, or cuts off the answer
 * that has begun, since half of one must not look like a whole one.
 * @returns false if the code at hand runs in the course of no request that is under way.
 */
export function endFailedRequest(): boolean {
  const { response } = current.getStore() ?? {};
  if (response === undefined || response.writableEnded || response.destroyed) return false;
  if (response.headersSent) {
    response.destroy();
    return true;
  }
  const { status, headers, body } = bareAnswer(
    new RequestError('server_error', 'An unexpected error occurred. It has been logged.'),
  );
  response.writeHead(status, { ...headers, Connection: 'close' }).end(body);
  return true;
}
