import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { MessageKey } from '../../../platform/i18n/translate.ts';
import { sendPage } from '../../../platform/pages/page.ts';
import { listIdentities } from '../../credentials/identities.store.ts';
import type { Deps } from '../../deps.ts';
import { requireRecentSession, requireSession, type Session } from '../../sessions/session.ts';
import { unlink } from '../operations.ts';
import { unlinkIdentity } from '../unlink-identity.ts';
import { providersPage } from './page.ts';

type ProviderRoute = { Params: { provider: string } };
type BeginLink = (
  request: FastifyRequest,
  reply: FastifyReply,
  link: { provider_id: string; session: Session },
) => Promise<FastifyReply>;

const path = '/account/security/providers';
const config = { page: true, form: path } as const;
const done: Readonly<Record<string, MessageKey>> = {
  linked: 'providers.done.linked',
  unlinked: 'providers.done.unlinked',
};

/**
 * Which providers open the account.
 * @param beginLink sends the browser to the provider.
 */
export async function providerAccountRoutes(app: FastifyInstance, deps: Deps, beginLink: BeginLink) {
  app.get(path, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    const values = request.queryParameters;
    const cancelled = deps.config.providers.find(({ id }) => id === values.cancelled);
    const key = Object.hasOwn(done, values.done ?? '') ? done[values.done ?? ''] : undefined;
    const list = { providers: deps.config.providers, identities: await listIdentities(deps.db, session.user_id) };
    const notice = cancelled ? view.t('federation.cancelled', { provider: cancelled.label }) : key && view.t(key);
    return sendPage(reply, view, providersPage(view, { ...list, notice }));
  });

  app.post<ProviderRoute>(`${path}/:provider`, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    return beginLink(request, reply, { provider_id: request.params.provider, session });
  });

  app.post<ProviderRoute>(`${path}/:provider/remove`, { config }, async (request, reply) => {
    const user = await requireRecentSession(deps, request);
    await unlinkIdentity(deps, { user, held: user, provider_id: request.params.provider, address: request.ip });
    return reply.redirect(`${path}?done=unlinked`, 303);
  });

  app.delete<ProviderRoute>(
    '/v1/me/identities/:provider',
    { config: { operation: unlink } },
    async (request, reply) => {
      const user = await requireRecentSession(deps, request);
      await unlinkIdentity(deps, { user, held: user, provider_id: request.params.provider, address: request.ip });
      return reply.code(204).send();
    },
  );
}
