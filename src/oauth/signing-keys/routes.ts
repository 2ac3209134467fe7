import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { OperationDescription } from '../../platform/http/operation-description.ts';
import { sendPublicDocument } from '../../platform/http/public-document.ts';
import type { Deps } from '../deps.ts';

const operation: OperationDescription = {
  tag: 'OIDC',
  summary: 'The public keys that tokens are verified with',
  description: 'The active key of each algorithm, the next one, and for 65 minutes after a rotation the one before.',
  answers: {
    200: { description: 'A key set (RFC 7517).', schema: Type.Object({ keys: Type.Array(Type.Object({})) }) },
  },
};

/** RFC 7517 key set: public keys, cacheable for five minutes (spec 4.2), from memory alone. */
export async function keyRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/.well-known/jwks.json', { config: { operation } }, async (request, reply) =>
    sendPublicDocument(request, reply, deps.keys.published),
  );
}
