import type { FastifyInstance } from 'fastify';
import { notFound } from '../../platform/errors.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';
import type { Deps } from '../deps.ts';
import { listTtl } from './status-lists.ts';

const media = 'application/statuslist+jwt';

/** Lists of revoked access tokens, for APIs that were shown a token that names one. */
export async function statusListRoutes(app: FastifyInstance, deps: Deps) {
  app.get<{ Params: { list: string } }>(
    '/oauth/status-lists/:list',
    { config: { operation: readStatusList, cors: true } },
    async (request, reply) => {
      const found = await deps.statusLists.read(request.params.list);
      if (!found) throw notFound();
      reply.header('cache-control', `public, max-age=${listTtl}`).header('etag', found.etag);
      const known = request.headers['if-none-match'];
      if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === found.etag)) return reply.code(304).send();
      return reply.type(media).send(found.token);
    },
  );
}

const readStatusList: OperationDescription = {
  id: 'readStatusList',
  tag: 'OIDC',
  summary: 'Read which access tokens of a list are revoked',
  description:
    'A Token Status List (draft-ietf-oauth-status-list). Access tokens for an API with the `token_status` `list` name their list and their index in it in `status`. A revocation shows within 60 seconds. May be cached for 15 seconds.',
  parameters: {
    list: { description: 'As the last part of `status.status_list.uri` of a token.' },
  },
  answers: {
    200: {
      description:
        'A signed JWT of the type `statuslist+jwt`: `sub` is its address, `status_list.lst` the bits, one a token, compressed by zlib.',
      media: [media],
    },
    304: { description: 'As the one that `if-none-match` names.' },
  },
  refusals: ['not_found'],
};
