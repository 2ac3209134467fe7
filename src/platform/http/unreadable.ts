import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { invalidRequest, RequestError } from '../errors.ts';
import { bareAnswer } from './bare-answer.ts';
import { latestRequestOn } from './request-context.ts';

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
