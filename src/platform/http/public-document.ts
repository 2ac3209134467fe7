import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Representations, representations, sendRepresentation } from './representations.ts';

/** Bytes that are made once, and the tag by which a reader knows that it has them. */
export type PublicDocument = { readonly body: string; readonly etag: string; readonly forms: Representations };

export function publicDocument(value: unknown): PublicDocument {
  const body = JSON.stringify(value);
  const forms = representations(body);
  return { body, etag: forms.plain.etag, forms };
}

/** A document that anybody may read from anywhere and keep for five minutes. */
export function sendPublicDocument(request: FastifyRequest, reply: FastifyReply, { forms }: PublicDocument) {
  reply.headers({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' });
  return sendRepresentation(request, reply, forms, 'application/json; charset=utf-8');
}
