import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { requireUser } from '../../accounts/users.ts';
import { endUserSession, listSessions, SessionRecord, sessionRecord } from '../../authentication/sessions/sessions.ts';
import {
  endTrustedBrowser,
  listTrustedBrowsers,
  TrustedBrowserRecord,
  trustedBrowserRecord,
} from '../../authentication/sessions/trusted-browsers.ts';
import { entitlementStatuses } from '../../entitlements/entitlement.ts';
import { entitlementHistory } from '../../entitlements/read-history.ts';
import { grantRecord, listGrants, revokeGrantByAdministrator } from '../../oauth/grants/grants.ts';
import { inCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { limit, paging } from '../../platform/http/paging.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, OptionalReasonBody, reasonExample } from '../operation-parts.ts';
import { userOperand } from './operations.ts';

const GrantRecord = Type.Object({
  grant_id: Type.String(),
  client_id: Type.String(),
  client_name: Type.String(),
  session_id: Type.String({ description: 'The session from which it was granted.' }),
  scope: Type.Array(Type.String()),
  created_at: Time,
  last_used_at: nullable(Time),
  expires_at: Time,
});

const written = {
  product: Type.String(),
  plan: Type.String(),
  status: Type.Enum([...entitlementStatuses]),
  source: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  current_period_end: nullable(Time),
  external_customer_id: nullable(Type.String()),
  external_subscription_id: nullable(Type.String()),
  metadata: nullable(Type.Record(Type.String(), Type.Unknown())),
};
const StoredEntitlement = Type.Object({ ...written, updated_at: Time });
const EntitlementVersion = Type.Object({
  ...written,
  event_id: nullable(Type.String()),
  credential_id: Type.String({ description: 'The service credential that wrote the entitlement.' }),
  written_at: Time,
});

const historyCursor = Type.Optional(
  Type.String({
    description: 'Where the page begins: `next` of the previous page.',
    ...inCode({ pattern: '^[0-9]{1,12}-[0-9]{1,15}\\.[A-Za-z0-9_-]{1,400}$' }),
  }),
);

const one = (permission: AdministrativePermission) => ({
  ...administration(permission),
  parameters: { user_id: 'user_id of any user.' },
});
const ended = { description: 'Ended on every node.' };

const notes = ['CUSTOMER', 'SUBSCRIPTION', 'METADATA'];
const longestNote = 200;

type Notes = { external_customer_id: string | null; external_subscription_id: string | null; metadata: unknown };

/** What the source keeps for itself, in short. `--json` has all of it. */
function notesOf({ external_customer_id, external_subscription_id, metadata }: Notes) {
  const text = metadata === null ? '-' : JSON.stringify(metadata);
  const short = text.length <= longestNote ? text : `${text.slice(0, longestNote)}...`;
  return [external_customer_id, external_subscription_id, short];
}

export const accessOperations = {
  listSessions: operation({
    ...one('users:read'),
    id: 'listUserSessions',
    method: 'GET',
    path: '/v1/admin/users/:user_id/sessions',
    summary: 'List the active sessions of a user',
    query: {
      query: Type.Optional(
        Type.String({
          description:
            'Beginnings of words of the device, or an IP address or its beginning, in any order; or a session_id.',
        }),
      ),
    },
    answer: { description: 'Last used first.', schema: Type.Object({ sessions: Type.Array(SessionRecord) }) },
    refusals: ['not_found'],
    async run(deps, { user_id, query: { query } }) {
      await requireUser(deps, user_id);
      return { sessions: (await listSessions(deps, user_id, query)).map(sessionRecord) };
    },
    command: {
      name: 'sessions list',
      summary: "List a user's active sessions, most recently used first.",
      operands: userOperand,
      text: ({ sessions }) =>
        sessions.length === 0
          ? 'No active sessions match.'
          : list([
              ['SESSION', 'LAST USED', 'METHODS', 'ADDRESS', 'DEVICE'],
              ...sessions.map((each) => [
                each.session_id,
                time(each.last_seen_at),
                each.amr,
                each.address,
                each.device,
              ]),
            ]),
    },
  }),

  endSession: operation({
    ...administration('users:write'),
    id: 'endUserSession',
    method: 'DELETE',
    path: '/v1/admin/users/:user_id/sessions/:session_id',
    summary: 'End a session of a user, and revoke the grants made in it',
    description: 'The user receives an email, with the reason if there is one.',
    parameters: { user_id: 'user_id of the session.', session_id: 'As in the list.' },
    body: OptionalReasonBody,
    bodyIsOptional: true,
    example: reasonExample,
    answer: ended,
    refusals: ['not_found'],
    run: (deps, { caller, user_id, session_id, body: { reason: words } }) =>
      endUserSession(deps, caller, { user_id, session_id }, { by: 'administrator', words }),
    command: {
      name: 'sessions end',
      confirm: 'This signs the user out of that session and revokes the grants made in it. It cannot be undone.',
      summary: 'End a session of a user. Revokes the grants made in it, too.',
      operands: userOperand,
      json: (_, { session_id }) => ({ ended: session_id }),
      text: (_, { session_id }) => `${session_id} has ended, and its tokens have been revoked.`,
    },
  }),

  listTrustedBrowsers: operation({
    ...one('users:read'),
    id: 'listUserTrustedBrowsers',
    method: 'GET',
    path: '/v1/admin/users/:user_id/trusted-browsers',
    summary: 'List the browsers that a user trusts',
    description: 'In which signing in does not ask for the second factor of the user.',
    answer: {
      description: 'Last used first; an empty list where there are none.',
      schema: Type.Object({ trusted_browsers: Type.Array(TrustedBrowserRecord, { description: 'Twenty at most.' }) }),
    },
    refusals: ['not_found'],
    async run(deps, { user_id }) {
      await requireUser(deps, user_id);
      return { trusted_browsers: (await listTrustedBrowsers(deps, user_id)).map(trustedBrowserRecord) };
    },
    command: {
      name: 'trusted-browsers list',
      summary: 'List the browsers that a user trusts, most recently used first.',
      operands: userOperand,
      text: ({ trusted_browsers }) =>
        trusted_browsers.length === 0
          ? 'The user trusts no browser.'
          : list([
              ['BROWSER', 'LAST USED', 'UNTIL', 'ADDRESS', 'DEVICE'],
              ...trusted_browsers.map((each) => [
                each.browser_id,
                time(each.last_used_at),
                time(each.expires_at),
                each.address,
                each.device,
              ]),
            ]),
    },
  }),

  endTrustedBrowser: operation({
    ...administration('users:write'),
    id: 'endUserTrustedBrowser',
    method: 'DELETE',
    path: '/v1/admin/users/:user_id/trusted-browsers/:browser_id',
    summary: 'End the trust of a user in a browser',
    description:
      'The next sign-in in it asks for the second factor. Sessions go on; those that rest on it get no more codes for apps until then.',
    parameters: { user_id: 'user_id of the user.', browser_id: 'As in the list.' },
    body: OptionalReasonBody,
    bodyIsOptional: true,
    example: reasonExample,
    answer: ended,
    refusals: ['not_found'],
    run: (deps, { caller, user_id, browser_id, body: { reason } }) =>
      endTrustedBrowser(deps, caller, { user_id, browser_id }, reason),
    command: {
      name: 'trusted-browsers end',
      summary: 'End the trust of a user in a browser: the next sign-in in it asks for the second factor.',
      operands: userOperand,
      json: (_, { browser_id }) => ({ ended: browser_id }),
      text: (_, { browser_id }) => `${browser_id} is no longer trusted.`,
    },
  }),

  listGrants: operation({
    ...one('users:read'),
    id: 'listUserGrants',
    method: 'GET',
    path: '/v1/admin/users/:user_id/grants',
    summary: 'List the active grants of a user',
    query: {
      query: Type.Optional(
        Type.String({
          description:
            "Beginnings of words of the client's name, in any order; or a client_id, grant_id or session_id.",
        }),
      ),
      ...paging,
    },
    answer: {
      description: 'Newest first.',
      schema: Type.Object({ grants: Type.Array(GrantRecord), next: nullable(Type.String()) }),
    },
    refusals: ['not_found', 'invalid_request'],
    async run(deps, { user_id, query }) {
      await requireUser(deps, user_id);
      const { grants, next = null } = await listGrants(deps, user_id, query);
      return { grants: grants.map(grantRecord), next };
    },
    command: {
      name: 'grants list',
      summary: "List a user's active grants, newest first.",
      operands: userOperand,
      defaults: { limit: 500 },
      text: ({ grants, next }) =>
        [
          grants.length === 0
            ? 'No active grants match.'
            : list([
                ['GRANT', 'CLIENT', 'LAST USED', 'SCOPE', 'NAME'],
                ...grants.map((each) => [
                  each.grant_id,
                  each.client_id,
                  time(each.last_used_at ?? each.created_at),
                  each.scope,
                  each.client_name,
                ]),
              ]),
          ...(next === null ? [] : [`More results: --after ${next}`]),
        ].join('\n\n'),
    },
  }),

  revokeGrant: operation({
    ...administration('users:write'),
    id: 'revokeGrant',
    method: 'DELETE',
    path: '/v1/admin/grants/:grant_id',
    summary: 'Revoke a grant and all its tokens',
    description: 'The user receives an email, with the reason if there is one.',
    parameters: { grant_id: 'As in the list.' },
    body: OptionalReasonBody,
    bodyIsOptional: true,
    example: reasonExample,
    answer: ended,
    refusals: ['not_found'],
    run: (deps, { caller, grant_id, body: { reason } }) => revokeGrantByAdministrator(deps, caller, grant_id, reason),
    command: {
      name: 'grants revoke',
      confirm: 'This revokes the grant and all its tokens. It cannot be undone.',
      summary: 'Revoke a grant and all its tokens.',
      json: (_, { grant_id }) => ({ revoked: grant_id }),
      text: (_, { grant_id }) => `${grant_id} and its tokens have been revoked.`,
    },
  }),

  listEntitlements: operation({
    ...one('entitlements:read'),
    id: 'listUserEntitlements',
    method: 'GET',
    path: '/v1/admin/users/:user_id/entitlements',
    summary: 'List the entitlements of a user and their history',
    description:
      'Every response contains all current entitlements; the writes are paged. Includes the metadata of the ' +
      'source, which is null in versions written before it was stored.',
    query: {
      product: Type.Optional(Type.String({ description: 'Only writes for this product.' })),
      limit: Type.Integer({ ...limit, description: 'Maximum number of writes.' }),
      before: historyCursor,
    },
    answer: {
      description: 'Entitlements by product, versions newest first.',
      schema: Type.Object({
        entitlements: Type.Array(StoredEntitlement),
        versions: Type.Array(EntitlementVersion),
        next: nullable(Type.String()),
      }),
    },
    refusals: ['not_found', 'invalid_request'],
    run: (deps, { user_id, query }) => entitlementHistory(deps, user_id, query),
    command: {
      name: 'entitlements show',
      summary: "Show a user's entitlements and their history, newest first.",
      operands: userOperand,
      text({ entitlements, versions, next }) {
        const current = entitlements.map((each) => [
          each.product,
          each.plan,
          each.status,
          `v${each.version}`,
          time(each.current_period_end),
          ...notesOf(each),
        ]);
        const writes = versions.map((each) => [
          time(each.written_at),
          each.product,
          `v${each.version}`,
          each.plan,
          each.status,
          each.source,
          each.credential_id,
          ...notesOf(each),
        ]);
        return [
          list([['PRODUCT', 'PLAN', 'STATUS', 'VERSION', 'PERIOD ENDS', ...notes], ...current]),
          list([['WRITTEN', 'PRODUCT', 'VERSION', 'PLAN', 'STATUS', 'SOURCE', 'BY', ...notes], ...writes]),
          ...(next === null ? [] : [`More results: --before ${next}`]),
        ].join('\n\n');
      },
    },
  }),
};
