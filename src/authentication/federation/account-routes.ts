import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '../../platform/http/access.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { notice } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { type Identity, listIdentities } from '../credentials/identities.store.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { accountTab } from '../sessions/page.ts';
import {
  recentlySignedIn,
  requireRecentSession,
  requireSession,
  type Session,
  type SignedIn,
} from '../sessions/session.ts';
import { unlinkIdentity } from './link-identity.ts';

const access: Access<Deps, SignedIn> = recentlySignedIn;

const unlink = operation({
  id: 'unlinkIdentity',
  method: 'DELETE',
  path: '/v1/me/identities/:provider',
  access,
  tag: 'Account',
  summary: 'Disconnect a provider',
  description: 'The last sign-in method cannot be removed.',
  parameters: { provider: '`id` of one of the `identities` of the current user.' },
  answer: { description: 'Disconnected. The user is notified by email.' },
  refusals: ['not_found', 'invalid_state'],
  run: (deps, { session, caller, provider }) => unlinkIdentity(deps, { session, address: caller.address }, provider),
});

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
 * The providers that a user can sign in with.
 * @param beginLink redirects the browser to the provider.
 */
export async function providerAccountRoutes(app: FastifyInstance, deps: Deps, beginLink: BeginLink) {
  addOperations(app, deps, [unlink]);

  app.get(path, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const { view, queryParameters: values } = request;
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
    const session = await requireRecentSession(deps, request);
    await unlinkIdentity(deps, { session, address: request.ip }, request.params.provider);
    return reply.redirect(`${path}?done=unlinked`, 303);
  });
}

type ProviderList = { providers: readonly Provider[]; identities: readonly Identity[]; notice?: Renderable };

/** Each configured provider, and identities of providers that are no longer configured. */
const providersPage = (view: View, list: ProviderList): Page => {
  const { providers, identities } = list;
  const gone = identities.filter(({ issuer }) => !providers.some((provider) => provider.issuer === issuer));
  return {
    title: view.plain('providers.title'),
    tab: accountTab('security'),
    // The form that connects ends at the provider. A policy that names http covers https, too (CSP3 §6.7.2.8).
    endsAt: providers.find(({ issuer }) => issuer.startsWith('http:'))?.issuer ?? providers[0]?.issuer,
    content: html`<p><a href="/account/security">${view.t('security.back')}</a></p>
<h1>${view.t('providers.title')}</h1>
${notice(list.notice)}
<p class="soft">${view.t(providers.length + gone.length > 0 ? 'providers.intro' : 'providers.none')}</p>
<ul class="items">${providers.map((provider) =>
      item(view, {
        id: provider.id,
        label: provider.label,
        identity: identities.find(({ issuer }) => issuer === provider.issuer),
      }),
    )}${gone.map((identity) =>
      item(view, {
        id: identity.provider,
        label: view.plain('providers.gone', { provider: identity.provider }),
        identity,
      }),
    )}</ul>`,
  };
};

type Item = { id: string; label: string; identity: Identity | undefined };

const item = (view: View, { id, label, identity }: Item): Html => html`<li>
<div><strong>${label}</strong>
<p class="soft">${identity ? state(view, identity) : view.t('providers.not_linked')}</p></div>
<form method="post" action="/account/security/providers/${id}${identity && '/remove'}">
<button type="submit" id="${identity ? 'disconnect' : 'connect'}-${id}" class="${identity ? 'quiet danger' : 'quiet'}">${view.t(
  identity ? 'providers.disconnect' : 'providers.connect',
  { provider: label },
)}</button>
</form>
</li>
`;

const state = (view: View, { email, linked_at, last_used_at }: Identity): Html => {
  const since =
    email === null
      ? view.t('providers.linked_nameless', { day: view.day(linked_at) })
      : view.t('providers.linked', { email: html`<bdi>${email}</bdi>`, day: view.day(linked_at) });
  return html`${since}, ${view.t('providers.used', { ago: view.ago(last_used_at) })}`;
};
