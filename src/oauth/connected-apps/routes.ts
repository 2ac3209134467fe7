import type { FastifyInstance } from 'fastify';
import { requireUser } from '../../accounts/users.ts';
import { accountTab } from '../../authentication/account-tab.ts';
import { signedIn } from '../../authentication/sessions/session.ts';
import type { ScopeRegister } from '../../clients/scopes.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import type { UserId } from '../../platform/ids.ts';
import { notice } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../../platform/pages/html.ts';
import { appMark } from '../../platform/pages/initials.ts';
import { itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import {
  claimList,
  claimsWithin,
  noLists,
  type Shared,
  sharedValues,
  userClaimNames,
  userClaims,
} from '../claims/claims.ts';
import type { Deps } from '../deps.ts';
import { ConnectedApp, disconnectApp, listConnectedApps } from './connected-apps.ts';

const path = '/account/apps';

/** Lets users review and revoke the access of clients (ASVS 10.7.3). */
export async function connectedAppRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [listConnectedClients, disconnectClient]);
  const pages = pagesFor(app, deps, signedIn);

  pages.show(path, async ({ view, session, query }) =>
    connectedAppsPage(view, await shownTo(deps, session.user_id), query.done === 'yes'),
  );
  pages.run(disconnectClient, {
    path: `${path}/disconnect`,
    page: path,
    input: ({ client_id = '' }) => ({ client_id }),
    done: `${path}?done=yes`,
    redraw: async ({ view, session }) => connectedAppsPage(view, await shownTo(deps, session.user_id), false),
  });
}

const shared = { tag: 'Account', access: signedIn } as const;

const listConnectedClients = operation({
  ...shared,
  id: 'listConnectedClients',
  method: 'GET',
  path: '/v1/me/grants',
  summary: 'List the clients with access to your account',
  description: 'One entry a client: those with active grants, and those whose consent is remembered.',
  answer: {
    description: 'Last used first.',
    schema: Type.Object({ grants: Type.Array(ConnectedApp) }),
  },
  run: async (deps: Deps, { session }) => ({ grants: await listConnectedApps(deps, session.user_id) }),
});

const disconnectClient = operation({
  ...shared,
  id: 'disconnectClient',
  method: 'DELETE',
  path: '/v1/me/grants/:client_id',
  summary: 'Disconnect a client',
  description: 'All its grants are revoked at once, and it has to ask for consent again.',
  parameters: { client_id: 'As in the list.' },
  answer: { description: 'The client is disconnected.' },
  refusals: ['not_found', 'rate_limited'],
  run: (deps: Deps, { session, caller, client_id }) =>
    disconnectApp(deps, { session, client_id, address: caller.address }),
});

type Shown = { apps: readonly ConnectedApp[]; scopes: ScopeRegister } & Shared;

/** The apps, and what the user has entered: what each scope releases of it today. */
async function shownTo(deps: Deps, user_id: UserId): Promise<Shown> {
  const attributes = await deps.attributes.read();
  const wanted = userClaimNames(attributes).filter((name) => name !== 'entitlements' && name !== 'groups');
  const [apps, user, scopes] = await Promise.all([
    listConnectedApps(deps, user_id),
    requireUser(deps, user_id),
    deps.scopes.read(),
  ]);
  return { apps, values: await userClaims(user, wanted, { lists: noLists, attributes }), attributes, scopes };
}

const connectedAppsPage = (view: View, { apps, ...shown }: Shown, isDone: boolean): Page => ({
  title: view.plain('apps.title'),
  tab: accountTab('apps'),
  content: html`<h1>${view.t('apps.title')}</h1>
<p class="soft">${view.t('apps.intro')}</p>
<p class="soft">${view.t('apps.values', { profile: html`<a href="/account">${view.t('account.tab.profile')}</a>` })}</p>
${notice(isDone && view.t('apps.done'))}
${itemsOr(
  apps.map((app) => appItem(view, app, shown)),
  view.t('apps.none'),
)}`,
});

/** What is allowed at an API says at which. */
function scopeText(view: View, name: string, scopes: ScopeRegister): Renderable {
  const scope = scopes.find(name);
  const text = scope?.describe(view.locale) ?? name;
  return scope?.api ? view.t('apps.at_api', { what: untrusted(text), api: untrusted(scope.api.name) }) : text;
}

/** Name and host are text; nothing of the client is linked, or loaded from elsewhere. */
function appItem(view: View, app: ConnectedApp, { scopes, ...shared }: Omit<Shown, 'apps'>): Html {
  const { t } = view;
  const id = `app-${app.client_id}`;
  const host = app.homepage_url !== null && URL.parse(app.homepage_url)?.host;
  const used = app.last_used_at === null ? t('apps.unused') : t('apps.used', { when: view.ago(app.last_used_at) });
  const logo = app.logo_url === null ? undefined : new URL(app.logo_url).pathname;
  return html`<li>
<div>
<div class="who">${appMark(app.name, logo, 'small')}<h2 id="${id}"><bdi>${app.name}</bdi></h2></div>
${host && html`<p><code>${host}</code></p>`}
<p>${t('apps.permissions')}</p>
<ul class="scopes">${app.scope.map(
    (name) =>
      html`<li>${scopeText(view, name, scopes)}${sharedValues(view, claimsWithin(shared.attributes, name), shared)}</li>`,
  )}${app.claims.length > 0 && html`<li>${claimList(view, shared.attributes, app.claims)}${sharedValues(view, app.claims, shared)}</li>`}</ul>
<p>${t('apps.since', { day: view.day(app.since) })} · ${used}</p>
</div>
<form method="post" action="/account/apps/disconnect">
<input type="hidden" name="client_id" value="${app.client_id}">
<button type="submit" class="danger" id="${id}-end" aria-labelledby="${id}-end ${id}">${t('apps.disconnect')}</button>
</form>
</li>`;
}
