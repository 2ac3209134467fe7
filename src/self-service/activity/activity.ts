import { type ActivityEvent, activityDays, longestPlace, readActivity } from '../../audit/read-activity.ts';
import { isAlertKind, natureOf } from '../../authentication/alerts/kinds.ts';
import type { Method } from '../../authentication/sessions/authentication.ts';
import { deviceName } from '../../authentication/sessions/browser.ts';
import { agentsOfSessions } from '../../authentication/statements.ts';
import { nameForUsers } from '../../clients/presentation.ts';
import { namesOfGroups } from '../../groups/find-groups.ts';
import type { Deps } from '../../oauth/deps.ts';
import { lostAppsOf } from '../../oauth/statements.ts';
import { unknownCursor } from '../../platform/db/slices.ts';
import { inCode, nullable, Time } from '../../platform/http/operation.ts';
import type { ClientId, GroupId, UserId } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { type ActivityKind, actionsOfKind, activityKinds, isOfActivity, kindOfAction } from './events.ts';

/** An event as its user may see it: nothing of an administrator but that one has done it, and no reason. */
export const ActivityRecord = Type.Object({
  at: Time,
  action: Type.String({ description: 'As in the audit log, such as `session.started`.' }),
  kind: Type.Enum([...activityKinds], { description: 'What it is about.' }),
  by: Type.Enum(['user', 'administrator', 'service', 'app', 'anyone'], {
    description:
      '`service`: Signet itself; `app`: the app, who registered it, or a product; `anyone`: who caused it had not signed in.',
  }),
  count: Type.Integer({ minimum: 1, description: 'Equal events of an hour that anyone can cause are one entry.' }),
  address: nullable(
    Type.String({ description: 'The IP address that it came from; never that of an administrator or a product.' }),
  ),
  browser: nullable(Type.String({ description: 'Of a sign-in, as long as its session is kept.' })),
  methods: Type.Array(Type.String(), { description: 'Of a sign-in, as in `amr` of an ID token.' }),
  app: nullable(
    Type.Object(
      { client_id: Type.String(), name: nullable(Type.String({ description: 'Null if it was deleted.' })) },
      { description: 'The app that got access or lost it.' },
    ),
  ),
  group: nullable(
    Type.Object(
      {
        group_id: Type.String({ description: 'ID of the group.' }),
        name: nullable(Type.String({ description: 'Null if it was deleted.' })),
      },
      { description: 'The group that the account joined or left.' },
    ),
  ),
  provider: nullable(
    Type.String({ description: 'The sign-in provider that was connected or disconnected, or has ended the session.' }),
  ),
  alert_id: nullable(Type.String({ description: 'What is known of it, and where you say whether it was you.' })),
});
export type ActivityRecord = Static<typeof ActivityRecord>;

/** In days, as the page offers them. */
export const activityPeriods = [7, 30, activityDays] as const;

export const activityQuery = {
  kind: Type.Optional(Type.Enum([...activityKinds], { description: 'Only events of this kind.' })),
  days: Type.Integer({ minimum: 1, maximum: activityDays, default: activityDays, description: 'How far back.' }),
  before: Type.Optional(
    Type.String({
      description: 'Where the page begins: `next` of the previous page.',
      ...inCode({ pattern: '^[A-Za-z0-9_-]{0,300}$' }),
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Number of entries.' }),
};

type Query = { kind?: ActivityKind | undefined; days: number; before?: string | undefined; limit: number };

/** A place in the log counts the events of all users, so its text is sealed, and as long as any. */
const sealPlace = ({ vault }: Deps, user_id: UserId, place: string): string =>
  vault.browser.seal(`activity ${user_id}`, place.padEnd(longestPlace));

/** @throws {RequestError} `invalid_request`. */
function openPlace({ vault }: Deps, user_id: UserId, sealed: string): string {
  try {
    return vault.browser.open(`activity ${user_id}`, sealed).trimEnd();
  } catch {
    throw unknownCursor('before');
  }
}

/** @throws {RequestError} `invalid_request` for a `before` that no page has given. */
export async function listActivity(
  deps: Deps,
  user_id: UserId,
  { kind, before, ...query }: Query,
): Promise<{ events: ActivityRecord[]; next: string | null }> {
  const { events, next } = await readActivity(deps, {
    ...query,
    before: before ? openPlace(deps, user_id, before) : undefined,
    user_id,
    actions: actionsOfKind(kind),
    unauthenticated: kind === undefined || kind === 'sign_ins',
    beside: kind === undefined || kind === 'apps' ? (...page) => lostApps(deps, user_id, ...page) : undefined,
  });
  const shown = events.filter((event) => isOfActivity(event.action) && !isShownElsewhere(user_id, event));
  const [browsers, apps, groups, providers] = await Promise.all([
    browsersOf(deps, user_id, shown),
    appsOf(deps, shown),
    groupsOf(deps, shown),
    deps.providers.read(),
  ]);
  return {
    next: next === undefined ? null : sealPlace(deps, user_id, next),
    events: shown.map((event) => {
      const { at, action, target, count } = event;
      const by = byWhom(user_id, event);
      const provider = textIn(event.after, 'provider') ?? textIn(event.before, 'provider');
      const client_id = clientOf(event);
      const nameThen = textIn(event.before, 'name');
      const app = client_id === undefined ? null : { client_id, name: apps.get(client_id) ?? nameThen ?? null };
      const group_id = groupOf(event);
      return {
        ...{ at, action, kind: kindOfAction(action), by, count, app },
        address: by === 'administrator' || by === 'app' ? null : event.address,
        browser: browsers.get(target ?? '') ?? null,
        methods: action.startsWith('session.') ? (textIn(event.after, 'amr')?.split(' ') ?? []) : [],
        group: group_id === undefined ? null : { group_id, name: groups.get(group_id) ?? null },
        provider: provider === undefined ? null : (providers.find(provider)?.label ?? provider),
        alert_id: textIn(event.after, 'alert_id') ?? null,
      };
    }),
  };
}

export const methodsOf = ({ methods }: ActivityRecord) => methods as Method[];

function byWhom(user_id: string, { action, actor }: ActivityEvent): ActivityRecord['by'] {
  if (action === 'client.suspended') return 'administrator';
  if (action === 'client.deleted' || action === 'entitlement.written') return 'app';
  if (actor === null) return 'anyone';
  if (actor === `user:${user_id}`) return 'user';
  return actor === 'system' ? 'service' : 'administrator';
}

/** Apps whose access ended with that of all their users. */
async function lostApps(
  { db }: Pick<Deps, 'db'>,
  user_id: UserId,
  before: { first_at: number; event_key: string } | undefined,
  limit: number,
) {
  const place = before && { lost_at: before.first_at, grant_id: before.event_key };
  const rows = await lostAppsOf(db, user_id, { before: place, limit });
  return rows.map(({ lost_at, grant_id, action, client_id, name }) => ({
    ...{ first_at: lost_at, event_key: grant_id, action, actor: null, target: client_id, address: null, count: 1 },
    ...{ before: { name }, after: null },
  }));
}

function textIn(state: unknown, member: string): string | undefined {
  const value = typeof state === 'object' && state !== null ? (state as Record<string, unknown>)[member] : undefined;
  return typeof value === 'string' ? value : undefined;
}

const isRaised = ({ action }: ActivityEvent): boolean => action === 'security_alert.raised';

/**
 * An alert whose cause has an event of its own, which leads to it; and access that an app has given back or that was replayed, which the app
 * knows, or an alert is about: only what an administrator has ended is shown.
 */
function isShownElsewhere(user_id: UserId, event: ActivityEvent): boolean {
  if (event.action === 'grant.revoked') return !isByAdministrator(user_id, event);
  const kind = textIn(event.after, 'kind') ?? '';
  return isRaised(event) && !(isAlertKind(kind) && !natureOf(kind).hasOwnEvent);
}

/** On behalf of an app, its own credentials act. */
const isByAdministrator = (user_id: UserId, event: ActivityEvent): boolean =>
  byWhom(user_id, event) === 'administrator' && !event.actor?.startsWith('client:');

function clientOf(event: ActivityEvent): ClientId | undefined {
  if (isRaised(event) || event.action === 'grant.revoked') return textIn(event.after, 'client_id');
  const isOfApp = event.target !== null && kindOfAction(event.action) === 'apps';
  return isOfApp && event.action !== 'entitlement.written' ? (event.target ?? undefined) : undefined;
}

const groupOf = ({ action, target }: ActivityEvent): GroupId | undefined =>
  action.startsWith('group.') && target !== null ? target : undefined;

async function groupsOf({ db }: Pick<Deps, 'db'>, events: readonly ActivityEvent[]) {
  const ids = new Set(events.flatMap((event) => groupOf(event) ?? []));
  return ids.size === 0 ? new Map<string, string>() : namesOfGroups({ db }, [...ids]);
}

async function browsersOf({ db }: Pick<Deps, 'db'>, user_id: UserId, events: readonly ActivityEvent[]) {
  const ids = events.flatMap(({ action, target }) => (action === 'session.started' && target !== null ? [target] : []));
  if (ids.length === 0) return new Map<string, string | undefined>();
  const agents = await agentsOfSessions(db, user_id, [...new Set(ids)]);
  return new Map(agents.map(({ session_id, user_agent }) => [session_id as string, deviceName(user_agent)]));
}

async function appsOf({ clients }: Pick<Deps, 'clients'>, events: readonly ActivityEvent[]) {
  const ids = new Set(events.flatMap((event) => clientOf(event) ?? []));
  const found = await Promise.all([...ids].map((client_id) => clients.find(client_id)));
  return new Map(found.flatMap((client) => (client ? [[client.client_id as string, nameForUsers(client)]] : [])));
}
