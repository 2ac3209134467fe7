import { notice } from '../../../platform/pages/form.ts';
import { type Html, html, type Renderable } from '../../../platform/pages/html.ts';
import type { Page } from '../../../platform/pages/page.ts';
import type { View } from '../../../platform/pages/view.ts';
import type { Identity } from '../../credentials/identities.store.ts';
import type { Provider } from '../../credentials/providers.ts';
import { accountTab } from '../../sessions/account-tabs.ts';

type ProviderList = { providers: readonly Provider[]; identities: readonly Identity[]; notice?: Renderable };

/** Each configured provider, and what was linked with one that is configured no more. */
export const providersPage = (view: View, list: ProviderList): Page => {
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
