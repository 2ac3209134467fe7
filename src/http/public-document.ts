import type { FastifyReply, FastifyRequest } from 'fastify';

/** A document that anybody may read from anywhere and keep for five minutes. */
export function sendPublicDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: { body: string; etag: string },
) {
  reply.headers({ 'cache-control': 'public, max-age=300', etag: document.etag, 'access-control-allow-origin': '*' });
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === document.etag)) {
    return reply.code(304).send();
  }
  return reply.type('application/json; charset=utf-8').send(document.body);
}
