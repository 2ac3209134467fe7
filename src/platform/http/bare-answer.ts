import type { RequestError } from '../errors.ts';

/** A refusal where Fastify has no part in it: its status, its headers and its JSON. */
export function bareAnswer({ status, code, message }: RequestError) {
  const body = JSON.stringify({ error: code, error_description: message });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  return { status, headers, body };
}
