import { AsyncLocalStorage } from 'node:async_hooks';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { invalidRequest, RequestError } from '../errors.ts';

/**
 * Bytes that Node cannot read as one HTTP request, or that come too slowly. Two readers of such bytes could see
 * different requests in them (RFC 9112 §11.2), so it is one answer and the end of the connection. Nothing is logged:
 * the error carries the raw packet, and that may carry a password.
 */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  const last = latestRequestOn(socket);
  if (last !== undefined && !last.response.writableEnded && last.request.complete) {
    last.response.shouldKeepAlive = false; // the request before is answered first, and with it the connection ends
    return;
  }
  // What is wrong with the body of a request that has been answered already gets no second answer: the client would take
  // it for the answer to its next request (RFC 9112 §9.3).
  const isAnswered = last !== undefined && !last.request.complete && last.response.headersSent;
  if (socket.writable && error.code !== 'ECONNRESET' && !isAnswered) {
    const { status, headers, body } = bareAnswer(refusalOf(error));
    const head = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroySoon();
}

function refusalOf({ code }: { code?: string }): RequestError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new RequestError('headers_too_large', 'The headers are larger than 16 KB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new RequestError('request_timeout', 'The request was received too slowly.');
  return invalidRequest('The request is not valid HTTP.');
}

/** A refusal where Fastify has no part in it: its status, its headers and its JSON. */
function bareAnswer({ status, code, message }: RequestError) {
  const body = JSON.stringify({ error: code, error_description: message });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  return { status, headers, body };
}

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
