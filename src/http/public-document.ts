import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Bytes that are made once, and the tag by which a reader knows that it has them. */
export type PublicDocument = { readonly body: string; readonly etag: string };

export function publicDocument(value: unknown): PublicDocument {
  const body = JSON.stringify(value);
  return { body, etag: `"${hash('sha256', body, 'base64url')}"` };
}

/** A document that anybody may read from anywhere and keep for five minutes. */
export function sendPublicDocument(request: FastifyRequest, reply: FastifyReply, document: PublicDocument) {
  reply.headers({ 'cache-control': 'public, max-age=300', etag: document.etag, 'access-control-allow-origin': '*' });
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === document.etag)) {
    return reply.code(304).send();
  }
  return reply.type('application/json; charset=utf-8').send(document.body);
}
