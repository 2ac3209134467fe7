import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../deps.ts';
import { invalidRequest, notFound, RequestError } from '../errors.ts';
import { sendRefusal } from './errors.ts';

/**
 * Bytes that Node cannot read as one HTTP request, or that come too slowly. Two readers of such bytes could see
 * different requests in them (RFC 9112 §11.2), so it is one answer and the end of the connection. Nothing is logged:
 * the error carries the raw packet, and that may carry a password.
 */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (socket.writable && error.code !== 'ECONNRESET') {
    const { status, code, message } = refusalOf(error);
    const body = JSON.stringify({ error: code, error_description: message });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${body.length}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroySoon();
}

function refusalOf({ code }: { code?: string }): RequestError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new RequestError('headers_too_large', 'The headers are larger than 16 KB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new RequestError('request_timeout', 'The request came too slowly.');
  return invalidRequest('The request is not valid HTTP.');
}

/** Paths that Fastify's router cannot take apart; its own answers would repeat what was sent. */
export const answerUnroutable =
  (deps: Pick<Deps, 'config' | 'look' | 'clock'>) =>
  ({ code }: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    // An id longer than any of ours names nothing, like every other unknown id.
    const isTooLong = code === 'FST_ERR_MAX_PARAM_LENGTH';
    reply.header('x-content-type-options', 'nosniff');
    sendRefusal(deps, request, reply, isTooLong ? notFound() : invalidRequest('The URL is malformed.'));
  };
