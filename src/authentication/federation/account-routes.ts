import type { FastifyInstance, FastifyReply } from 'fastify';
import { addOperations, operation } from '../../platform/http/operation.ts';
import { notice } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrustedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { accountTab } from '../account-tab.ts';
import { type Identity, listIdentities } from '../credentials/identities.store.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { recentlySignedIn, signedIn } from '../sessions/session.ts';
import type { Session } from '../sessions/store.ts';
import { unlinkIdentity } from './link-identity.ts';

const unlink = operation({
  id: 'unlinkIdentity',
  method: 'DELETE',
  path: '/v1/me/identities/:provider',
  access: recentlySignedIn,
  tag: 'Account',
  summary: 'Disconnect a provider',
  description: 'The last sign-in method cannot be removed.',
  parameters: { provider: '`id` of one of the `identities` of the current user.' },
  answer: { description: 'Disconnected. The user is notified by email.' },
  refusals: ['not_found', 'invalid_state'],
  run: (deps: Deps, { provider, ...owner }) => unlinkIdentity(deps, owner, provider),
});

const path = '/account/security/providers';

/**
 * The providers that a user can sign in with.
 * @param beginLink redirects the browser to the provider.
 */
export async function providerAccountRoutes(
  app: FastifyInstance,
  deps: Deps,
  beginLink: (reply: FastifyReply, provider_id: string, session: Session) => Promise<FastifyReply>,
) {
  addOperations(app, deps, [unlink]);

  pagesFor(app, deps, signedIn).show(path, async ({ view, session, query: { cancelled, done } }) => {
    const { all: providers, find } = await deps.providers.read();
    const provider = cancelled === undefined ? undefined : find(cancelled);
    const said = done === 'linked' || done === 'unlinked' ? view.t(`providers.done.${done}`) : undefined;
    const notice = provider ? view.t('federation.cancelled', { provider: provider.label }) : said;
    return providersPage(view, { providers, identities: await listIdentities(deps.db, session.user_id), notice });
  });

  const pages = pagesFor(app, deps, recentlySignedIn);
  pages.post(`${path}/:provider`, {
    page: path,
    act: ({ reply, session, provider }) => beginLink(reply, provider, session),
  });
  pages.run(unlink, { path: `${path}/:provider/remove`, page: path, done: `${path}?done=unlinked` });
}

type ProviderList = { providers: readonly Provider[]; identities: readonly Identity[]; notice?: Renderable };

/** Each configured provider, and identities of providers that are no longer configured. */
const providersPage = (view: View, list: ProviderList): Page => {
  const { providers, identities } = list;
  const gone = identities.filter(({ issuer }) => !providers.some((provider) => provider.issuer === issuer));
  const of = ({ issuer }: Provider) => identities.find((one) => one.issuer === issuer);
  // By its ID that one would be disconnected instead, which has got it since.
  const isHidden = ({ provider }: Identity) => providers.some((one) => one.id === provider && of(one));
  return {
    title: view.plain('providers.title'),
    tab: accountTab('security'),
    endsAt: providers[0]?.issuer,
    content: html`<h1>${view.t('providers.title')}</h1>
${notice(list.notice)}
<p class="soft">${view.t(providers.length + gone.length > 0 ? 'providers.intro' : 'providers.none')}</p>
<ul class="items">${providers.map((provider) => item(view, { ...provider, identity: of(provider) }))}${gone
      .filter((identity) => !isHidden(identity))
      .map((identity) =>
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
      : view.t('providers.linked', { email: untrustedEmail(email), day: view.day(linked_at) });
  return html`${since} · ${view.t('providers.used', { ago: view.ago(last_used_at) })}`;
};
