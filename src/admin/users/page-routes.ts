import type { FastifyInstance } from 'fastify';
import { readAdministratorProblem } from '../../accounts/administrators.ts';
import { type Role, roles } from '../../accounts/roles.ts';
import { findUser, userFilters } from '../../accounts/statements.ts';
import { countUsers, requireUser } from '../../accounts/users.ts';
import { changedAttributesIn } from '../../attributes/fields.ts';
import type { Caller } from '../../audit/audit.ts';
import { pendingInvitations } from '../../authentication/account-links/invitation.ts';
import { recoveryUnderWay } from '../../authentication/factor-recovery/stop-recovery.ts';
import type { Administrator } from '../../authentication/sessions/session.ts';
import { listSessions } from '../../authentication/sessions/sessions.ts';
import { listTrustedBrowsers } from '../../authentication/sessions/trusted-browsers.ts';
import { listOwnClients } from '../../clients/find-clients.ts';
import { entitlementHistory } from '../../entitlements/read-history.ts';
import { groupsOfUser } from '../../groups/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listGrants } from '../../oauth/grants/grants.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { type Parameters, readChoice, readForm } from '../../platform/http/parameters.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { doneOrUnchanged, type PageContext, sendDownload } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { ttlCache } from '../../platform/ttl-cache.ts';
import { listAlerts, requireAlertOfUser } from '../../self-service/alerts/alerts.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { accessOperations } from './access-operations.ts';
import { userGrantsPage, userSessionsPage } from './access-pages.ts';
import { accountOperations } from './account-operations.ts';
import { editUserPage, invitationPage, invitePage, resetLinkPage } from './account-pages.ts';
import { userAlertPage, userAlertsPage } from './alert-pages.ts';
import { bulkPreviewPage, bulkResultPage, selectedPrefix } from './bulk-page.ts';
import { bulkActions, changeSeveral, changesRole, previewOf } from './change-several.ts';
import { entitlementHistoryPage } from './entitlement-history.ts';
import { invitationOperations } from './invitation-operations.ts';
import { exportPage, searchOf, usersPage } from './list-page.ts';
import { userOperations as operations } from './operations.ts';
import { itemsShown, userPage } from './page.ts';
import { readUsers, userOverview } from './read-user.ts';
import { recoveryOperations } from './recovery-operations.ts';
import { takeoverProblem } from './refuse-takeover.ts';

const list = '/admin/users';
const one = `${list}/:user_id` as const;
const grantsPerPage = 50;

/** Users, and what an administrator may do about one of them. */
export async function userPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'users:read');

  const counted = ttlCache('user_counts', deps.clock, () => countUsers(deps));
  const drawList = async (view: View, query: Parameters) => {
    const search = searchOf(query);
    const [found, counts] = await Promise.all([readUsers(deps, search), counted.find('')]);
    return usersPage(view, { search, query, ...found, counts, providers: (await deps.providers.read()).all });
  };
  pages.show(list, ({ view, query }) => drawList(view, query));

  const showInvitations = async ({ view }: { view: View }, shown: Shown) =>
    invitePage(view, await pendingInvitations(deps, { after: shown.query?.after }), shown);
  pages.show(`${list}/invite`, (context) => {
    context.authorize('users:write');
    return showInvitations(context, context);
  });
  pages.run(invitationOperations.invite, {
    page: `${list}/invite`,
    input: ({ email = '', preferred_username, name, role, locale, reason, replace }) => ({
      body: {
        email,
        preferred_username: preferred_username?.trim() || undefined,
        name: name?.trim() || undefined,
        role: role === 'admin' ? ('admin' as const) : undefined,
        locale: locales.find((one) => one === locale),
        reason: reason?.trim() || undefined,
        replace: replace === 'on',
      },
    }),
    done: (made, { view, request }) => invitationPage(view, readForm(request.body).email ?? '', made),
    explains,
    redraw: showInvitations,
  });
  pages.run(invitationOperations.revokeInvitation, {
    page: `${list}/invite`,
    input: ({ email = '', reason }) => ({ body: { email, reason: reason?.trim() || undefined } }),
    done: `${list}/invite?done=invitation_revoked`,
    explains,
    redraw: showInvitations,
  });

  const actionIn = (form: Parameters) => {
    const action = readChoice(form, 'action', bulkActions);
    if (action === undefined) throw invalidRequest('action is missing.');
    return action;
  };
  const preview = async (context: { view: View; caller: Caller }, form: Parameters, shown: Shown) => {
    const action = actionIn(form);
    const selected = await previewOf(deps, context.caller, action, selectedIn(form));
    return bulkPreviewPage(context.view, action, selected, shown);
  };
  pages.show(`${list}/bulk`, (context) => {
    const form = context.request.keptForm?.typed ?? context.query;
    if (form.action === undefined) return drawList(context.view, {});
    context.authorize('users:write');
    return preview(context, form, {});
  });
  pages.post(`${list}/bulk`, {
    page: `${list}/bulk`,
    async act({ view, caller, authorize }, form) {
      authorize('users:write');
      if (changesRole(actionIn(form))) authorize('administrators:write');
      const [action, user_ids] = [actionIn(form), selectedIn(form)];
      const results = await changeSeveral(deps, caller, { action, user_ids, reason: form.reason ?? '' });
      const users = await Promise.all(results.map(({ user_id }) => findUser(deps.db, user_id)));
      return bulkResultPage(
        view,
        action,
        results.map((result, place) => ({ ...result, user: users[place] })),
      );
    },
    explains,
    redraw: (context, shown) => preview(context, shown.form, shown),
  });

  pages.show(one, (context) => redraw(context, context));

  pages.show(`${one}/entitlements`, async ({ view, user_id, query: { product, before } }) => {
    const user = await requireUser(deps, user_id);
    const history = await entitlementHistory(deps, user_id, { product, before });
    return entitlementHistoryPage(view, user, { product, history });
  });

  pages.show(`${one}/sessions`, async ({ view, user_id, query: { q = '' } }) => {
    const user = await requireUser(deps, user_id);
    return userSessionsPage(view, user, q.trim(), await listSessions(deps, user_id, q));
  });
  pages.show(`${one}/alerts`, async ({ view, user_id }) =>
    userAlertsPage(view, await requireUser(deps, user_id), await listAlerts(deps, user_id)),
  );
  pages.show(`${one}/alerts/:alert_id`, async ({ view, user_id, alert_id }) =>
    userAlertPage(view, await requireUser(deps, user_id), await requireAlertOfUser(deps, user_id, alert_id)),
  );
  pages.show(`${one}/grants`, async ({ view, user_id, query: { q = '', after } }) => {
    const user = await requireUser(deps, user_id);
    const page = await listGrants(deps, user_id, { query: q, after, limit: grantsPerPage });
    return userGrantsPage(view, user, q.trim(), page);
  });

  const onPage = { page: one, explains, redraw };
  // The form of a page always gives a reason, so that the log has one.
  const withReason = { input: ({ reason = '' }: Parameters) => ({ body: { reason } }) };
  pages.run(operations.signOut, { done: doneOrUnchanged(one, 'signed_out'), ...withReason, ...onPage });
  pages.run(operations.unlock, { done: doneOrUnchanged(one, 'unlocked'), ...onPage });
  pages.run(operations.enable, { done: `${one}?done=enabled`, ...onPage });
  pages.run(operations.disable, { done: `${one}?done=disabled`, ...withReason, ...onPage });
  pages.run(operations.resetFactors, { done: doneOrUnchanged(one, 'factors_reset'), ...withReason, ...onPage });
  pages.run(accountOperations.resetLink, {
    done: async (link, { view, user_id }) => resetLinkPage(view, await requireUser(deps, user_id), link),
    ...withReason,
    ...onPage,
  });
  pages.run(accountOperations.removePicture, {
    path: `${one}/remove-picture`,
    done: `${one}?done=picture_removed`,
    ...withReason,
    ...onPage,
  });
  pages.run(accountOperations.export, {
    done: async (file, { reply }) => sendDownload(reply, file),
    ...withReason,
    ...onPage,
  });
  const filterIn = ({ filter }: Parameters) => userFilters.find((one) => one === filter);
  pages.show(`${list}/export`, ({ view, query, authorize }) => {
    authorize('users:export');
    return exportPage(view, filterIn(query), {});
  });
  pages.run(accountOperations.exportList, {
    page: `${list}/export`,
    input: (form) => ({ body: { filter: filterIn(form), reason: form.reason ?? '' } }),
    done: async (file, { reply }) => sendDownload(reply, file),
    explains,
    redraw: ({ view }, shown) => exportPage(view, filterIn(shown.form), shown),
  });
  pages.run(accountOperations.delete, {
    path: `${one}/delete`,
    input: ({ email = '', reason = '' }) => ({ body: { email, reason } }),
    done: `${list}?done=deleted`,
    ...onPage,
  });

  const edit = async ({ view, caller, user_id }: UserContext, shown: Shown) => {
    const user = await requireUser(deps, user_id);
    const mayChangeAddress = (await takeoverProblem(deps, caller, user_id)) === undefined;
    const { all: attributes } = await deps.attributes.read();
    return editUserPage(view, user, { mayChangeAddress, attributes, shown });
  };
  pages.show(`${one}/edit`, (context) => {
    context.authorize('users:write');
    return edit(context as UserContext, {});
  });
  pages.run(accountOperations.edit, {
    path: `${one}/edit`,
    page: `${one}/edit`,
    // What was not touched is left out, or it would undo what the user has changed since the page was drawn.
    input: async ({ name = '', preferred_username: username, email, email_verified, reason = '', ...shown }) => ({
      body: {
        name: name === shown.shown_name ? undefined : name,
        preferred_username: username === shown.shown_username ? undefined : username?.trim() || null,
        // With it, the address is the one that is verified, and no other.
        email: email === shown.shown_email && email_verified !== 'on' ? undefined : email,
        email_verified: email_verified === 'on' ? (true as const) : undefined,
        attributes: changedAttributesIn((await deps.attributes.read()).all, shown),
        reason,
      },
    }),
    done: doneOrUnchanged(one, 'edited'),
    explains,
    redraw: (context, shown) => edit(context as UserContext, shown),
  });
  pages.run(operations.changeRole, {
    input: (form) => ({ body: { role: roleOf(form), reason: form.reason ?? '' } }),
    done: doneOrUnchanged(one, 'role_changed'),
    ...onPage,
  });
  pages.run(accessOperations.endSession, {
    path: `${one}/sessions/:session_id/end`,
    done: `${one}?done=session_ended`,
    ...withReason,
    ...onPage,
  });
  pages.run(accessOperations.endTrustedBrowser, {
    path: `${one}/trusted-browsers/:browser_id/end`,
    done: `${one}?done=trust_ended`,
    ...withReason,
    ...onPage,
  });
  pages.run(recoveryOperations.stopRecovery, {
    path: `${one}/factor-recovery/stop`,
    done: `${one}?done=recovery_stopped`,
    ...withReason,
    ...onPage,
  });
  pages.run(accessOperations.revokeGrant, {
    path: `${one}/grants/:grant_id/end`,
    done: `${one}?done=grant_ended`,
    ...withReason,
    ...onPage,
  });

  async function redraw({ view, caller, administrator_id, user_id }: UserContext, shown: Shown) {
    const overview = await userOverview(deps, user_id);
    const { all: attributes } = await deps.attributes.read();
    const [restriction, takeover, recovery, groups, sessions, trustedBrowsers, grants, clients, entitlements] =
      await Promise.all([
        readAdministratorProblem(deps, caller, user_id),
        takeoverProblem(deps, caller, user_id),
        recoveryUnderWay(deps, user_id),
        groupsOfUser(deps.db, user_id),
        listSessions(deps, user_id),
        listTrustedBrowsers(deps, user_id),
        listGrants(deps, user_id, { limit: itemsShown }),
        listOwnClients(deps, user_id),
        entitlementHistory(deps, user_id, { limit: 1 }),
      ]);
    const isSelf = administrator_id === user_id;
    const { all: providers } = await deps.providers.read();
    const user = {
      overview,
      recovery,
      attributes,
      groups,
      sessions,
      trustedBrowsers,
      grants,
      clients,
      entitlements,
      providers,
      restriction,
      takeover,
      isSelf,
    };
    return userPage(view, user, shown);
  }
}

type UserContext = PageContext<Administrator, typeof one>;

const roleOf = ({ role }: Parameters): Role => {
  const known = roles.find((one) => one === role);
  if (known === undefined) throw invalidRequest(`role must be one of ${roles.join(', ')}.`);
  return known;
};

const selectedIn = (form: Parameters): string[] =>
  Object.keys(form)
    .filter((name) => name.startsWith(selectedPrefix))
    .map((name) => name.slice(selectedPrefix.length));
