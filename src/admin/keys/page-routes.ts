import type { FastifyInstance } from 'fastify';
import { administratorContext } from '../../authentication/sessions/administrator.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listKeys } from '../../oauth/signing-keys/list-keys.ts';
import { rotateNow } from '../../oauth/signing-keys/rotate-keys.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { keysPage } from './page.ts';

export async function keyPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/admin/keys', { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    return sendPage(reply, view, keysPage(view, await listKeys(deps), query));
  });

  app.post('/admin/keys/rotate', { config: { page: true, form: '/admin/keys' } }, async (request, reply) => {
    const { caller } = await administratorContext(deps, request);
    const rotated = await rotateNow(deps, caller);
    await deps.keys.refresh();
    return reply.redirect(`/admin/keys?done=${rotated.length > 0 ? 'rotated' : 'waiting'}`, 303);
  });
}
