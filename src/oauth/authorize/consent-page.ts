import type { ApiRegister } from '../../apis/register.ts';
import type { Session } from '../../authentication/statements.ts';
import type { Client } from '../../clients/client.ts';
import { logoOf } from '../../clients/logos.ts';
import type { RegisteredBy } from '../../clients/presentation.ts';
import { destinationOf } from '../../clients/redirect-uri.ts';
import { isBuiltInScope, isOwnScope, type Scope, type ScopeRegister } from '../../clients/scopes.ts';
import { betweenSentences } from '../../platform/i18n/formats.ts';
import { brandIcon } from '../../platform/pages/brand-parts.ts';
import { hidden } from '../../platform/pages/form.ts';
import { Html, html, namedEmail, untrusted } from '../../platform/pages/html.ts';
import { appLogo, personInitials } from '../../platform/pages/initials.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { claimList, claimsWithin, type Shared, sharedValues } from '../claims/claims.ts';
import { claimsBeyondScope } from '../claims/claims-parameter.ts';
import type { PendingRequest } from './store.ts';

type Pending = {
  readonly request_id: string;
  readonly parameters: Pick<PendingRequest['parameters'], 'redirect_uri' | 'scope' | 'apis' | 'claims'>;
};

type Asked = {
  client: Pick<Client, 'name' | 'status' | 'logo_id'> & Partial<Pick<Client, 'policy_uri' | 'tos_uri'>>;
  registeredBy: RegisteredBy;
  user: Pick<Session, 'user_id' | 'email'>;
  scopes: ScopeRegister;
  apiRegister: ApiRegister;
  /** What the client would receive today. */
  shared: Shared;
};

/** The answer is valid for the user who is asked alone. */
export function consentPage(view: View, { request_id, parameters }: Pending, asked: Asked): Page {
  const { client, registeredBy, user, shared, scopes } = asked;
  const { redirect_uri } = parameters;
  const service = view.branding.name;
  const logo = logoOf(client);
  const scope = parameters.scope.split(' ');
  const claims = claimsBeyondScope(parameters, shared.attributes);
  return {
    title: view.plain('consent.title', { client: visibleText(client.name), service }),
    endsAt: redirect_uri,
    words: 'consent',
    content: html`<div class="tiles" aria-hidden="true">${logo === undefined ? html`<span class="tile">${personInitials({ name: client.name, email: '' })}</span>` : appLogo(logo)}${arrow}<span class="tile">${brandIcon(view, 36)}</span></div>
<h1>${view.t('consent.title', { client: untrusted(client.name), service })}</h1>
<p class="soft">${view.t(isFromOutside(registeredBy) ? 'consent.app.outside' : 'consent.app', { host: html`<code>${destinationOf(redirect_uri)}</code>` })}${registeredByText(view, registeredBy)}</p>
<h2>${view.t('consent.permissions')}</h2>
<ul class="permissions">${scope.filter((name) => isAsked(name, scopes)).map((name) => permission(view, name, scopes, shared))}${
      claims.length > 0 &&
      html`<li>${builtInIcons.profile}<div>${claimList(view, shared.attributes, claims)}${sharedValues(view, claims, shared)}</div></li>`
    }</ul>
${apisAsked(view, parameters, asked)}
<p class="soft">${view.t(scope.includes('offline_access') ? 'consent.lasting' : 'consent.short')}</p>
${links(view, client)}
<p class="soft">${view.t('consent.as', { email: namedEmail(user.email) })}${betweenSentences(view.locale)}<a class="whole" href="/signin/account?request=${request_id}">${view.t('consent.not_you')}</a></p>
<form method="post" action="/consent">
${hidden('request', request_id)}${hidden('user', user.user_id)}
<button type="submit" name="decision" value="allow" id="consent-allow">${view.t('consent.allow')}</button>
<button type="submit" name="decision" value="deny" id="consent-deny" class="quiet">${view.t('consent.cancel')}</button>
</form>`,
  };
}

/** One whose attributes were all deleted releases nothing. */
const isAsked = (name: string, scopes: ScopeRegister): boolean =>
  isBuiltInScope(name) || (isOwnScope(name) && scopes.find(name) !== undefined);

/** What the app may do at each API, under the name that an administrator has given it. */
function apisAsked(view: View, { scope, apis = [] }: Pending['parameters'], { apiRegister, scopes, shared }: Asked) {
  const wanted = scope.split(' ');
  return apis
    .flatMap((api_id) => apiRegister.find(api_id) ?? [])
    .map((api) => {
      const names = api.scopes.flatMap(({ name }) => (wanted.includes(name) ? [name] : []));
      const host = html`<code>${URL.parse(api.identifier)?.host || api.identifier}</code>`;
      return html`<h2>${view.t('consent.api', { api: untrusted(api.name), host })}</h2>
<ul class="permissions">${
        names.length > 0
          ? names.map((name) => permission(view, name, scopes, shared))
          : html`<li>${builtInIcons.openid}<div>${view.t('consent.api.identity')}</div></li>`
      }</ul>
`;
    });
}

/** @param name of a scope; one that is no longer there says no more than its name. */
function permission(view: View, name: string, scopes: ScopeRegister, shared: Shared): Html {
  const scope = scopes.find(name);
  const icon = icons.get(name) ?? (isOwnScope(name) ? builtInIcons.profile : builtInIcons.openid);
  const described = scope?.describe(view.locale) ?? name;
  const text = scope?.api ? untrusted(described) : described;
  return scope?.isWeighty
    ? html`<li class="weighty">${icon}<div><strong>${text}</strong></div></li>`
    : html`<li>${icon}<div>${text}${sharedValues(view, claimsWithin(shared.attributes, name), shared)}</div></li>`;
}

function links(view: View, { name, policy_uri = null, tos_uri = null }: Asked['client']): Html | false {
  const pages = [
    { url: policy_uri, label: view.t('clients.field.policy_uri') },
    { url: tos_uri, label: view.t('clients.field.tos_uri') },
  ].filter(({ url }) => url !== null);
  return (
    pages.length > 0 &&
    html`<p class="soft">${view.t('consent.pages_of', { client: untrusted(name) })} ${pages.map(
      ({ url, label }, place) =>
        html`${place > 0 && ' · '}<a href="${url}" target="_blank" rel="noopener noreferrer nofollow">${label}</a>`,
    )}</p>`
  );
}

const isFromOutside = (by: RegisteredBy) => typeof by === 'object' && 'origin' in by;

function registeredByText(view: View, by: RegisteredBy): Html {
  if (by === 'operator') return view.t('consent.ownerless', { service: view.branding.name });
  if (by === 'gone') return view.t('consent.owner_gone');
  if ('origin' in by) return view.t(`consent.origin.${by.origin}`, { host: html`<code>${by.host}</code>` });
  if (by.domain === undefined) return view.t('consent.owner_unverified');
  return view.t('consent.owner', { domain: untrusted(by.domain) });
}

const icon = (paths: string): Html =>
  Html.trusted(
    `<svg viewBox="0 0 24 24" width="22" height="22" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths}</svg>`,
  );

const arrow = icon('<path d="M4 8h15l-4-4M20 16H5l4 4"/>');

const builtInIcons: Readonly<Record<Scope, Html>> = {
  openid: icon('<circle cx="8" cy="15" r="4"/><path d="m11 12 8-8m-3 3 3 3m-6 0 2 2"/>'),
  profile: icon('<circle cx="12" cy="8" r="4"/><path d="M4 20c1-4 4-6 8-6s7 2 8 6"/>'),
  email: icon('<rect x="3" y="5" width="18" height="14" rx="2"/><path d="m3 7 9 7 9-7"/>'),
  offline_access: icon('<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 3"/>'),
  'entitlements:read': icon('<rect x="3" y="5" width="18" height="14" rx="2"/><path d="M3 10h18M7 15h4"/>'),
  groups: icon('<circle cx="9" cy="9" r="3"/><path d="M3 19c1-4 3-5 6-5s5 1 6 5M15 6a3 3 0 0 1 0 6m2 2c2 1 3 2 4 5"/>'),
};
const icons: ReadonlyMap<string, Html> = new Map(Object.entries(builtInIcons));
