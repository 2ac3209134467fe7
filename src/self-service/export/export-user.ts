import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { findPictureOf, findProvisioned, type User } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { valuesByName } from '../../attributes/values.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { readLog } from '../../audit/read-log.ts';
import type { LogPlace } from '../../audit/statements.ts';
import { listUnauthenticated } from '../../audit/unauthenticated.ts';
import { recoveryRecord, recoveryUnderWay } from '../../authentication/factor-recovery/stop-recovery.ts';
import { listSessions, sessionRecord } from '../../authentication/sessions/sessions.ts';
import { listTrustedBrowsers, trustedBrowserRecord } from '../../authentication/sessions/trusted-browsers.ts';
import {
  countBackupCodes,
  findTotp,
  listIdentities,
  listPasskeys,
  passwordOf,
} from '../../authentication/statements.ts';
import { listOwnClients } from '../../clients/find-clients.ts';
import { entitlementHistory } from '../../entitlements/read-history.ts';
import { groupsOfUser } from '../../groups/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { grantRecord, listGrants } from '../../oauth/grants/grants.ts';
import { type LostApp, listConsentsOfUser, lostAppsOf } from '../../oauth/statements.ts';
import { now } from '../../platform/clock.ts';
import { inPages } from '../../platform/db/slices.ts';
import type { FileAnswer } from '../../platform/http/operation.ts';
import type { UserId } from '../../platform/ids.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { findRefusal } from '../../platform/mail/refusals.ts';
import { listAlerts } from '../alerts/alerts.ts';

/**
 * What is stored about a user, for the user (GDPR articles 15 and 20): as JSON, a page at a time, so that memory stays
 * bounded. No secret and no hash of one is in it, nor what back ends keep for themselves beside an entitlement, which users
 * are never shown (decisions §12), nor the addresses of others who acted on the account.
 * @param reason for the log; only the command line may leave it out.
 * @throws {RequestError} `not_found`; `invalid_request` for a reason that is none; `access_denied` as {@link refuseAgainstAdministrator} says.
 */
export async function exportUser(deps: Deps, caller: Caller, user_id: string, reason?: string): Promise<FileAnswer> {
  const why = reason === undefined ? undefined : readReason(reason);
  const user = await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const at = now(deps);
  const event = auditEvent({ action: 'user.data_exported', ...caller, target: user_id, reason: why }, at);
  await deps.db.of(user_id).change({ run: { event: event.statement } });
  return {
    name: `${user_id}.json`,
    type: 'application/json; charset=utf-8',
    content: contentOf(deps, caller, user, at),
  };
}

async function* contentOf(deps: Deps, { actor }: Caller, user: User, exported_at: number): AsyncGenerator<string> {
  const picture = (await findPictureOf(deps.db, user.user_id)) ?? null;
  const groups = await groupsOfUser(deps.db, user.user_id);
  const { user_name, external_id, created_at } = (await findProvisioned(deps.db, user.user_id)) ?? {};
  const directory = user_name === undefined ? null : { user_name, external_id, created_at };
  const sign_in_methods = await signInMethods(deps, user.user_id);
  const attributes = valuesByName(await deps.attributes.read(), user.attributes);
  const mail_refusal = (await findRefusal(deps, user.email)) ?? null;
  const head = {
    exported_at,
    user: { ...user, attributes },
    picture,
    groups,
    directory,
    sign_in_methods,
    mail_refusal,
  };
  yield JSON.stringify(head).slice(0, -1);
  for (const [name, pages] of Object.entries(sections(deps, user.user_id, actor === `user:${user.user_id}`))) {
    yield `,${JSON.stringify(name)}:[`;
    let isFirst = true;
    for await (const rows of pages) {
      if (rows !== '') yield `${isFirst ? '' : ','}${rows}`;
      isFirst &&= rows === '';
    }
    yield ']';
  }
  yield '}\n';
}

async function signInMethods({ db }: Pick<Deps, 'db'>, user_id: string) {
  const [password, totp, backup_codes, passkeys, identities] = await Promise.all([
    passwordOf(db, user_id),
    findTotp(db, user_id),
    countBackupCodes(db, user_id),
    listPasskeys(db, user_id),
    listIdentities(db, user_id),
  ]);
  return {
    password: password ? { changed_at: password.changed_at } : null,
    totp: totp?.confirmed_at == null ? null : { confirmed_at: totp.confirmed_at, last_used_at: totp.last_used_at },
    backup_codes,
    passkeys: passkeys.map(({ name, created_at, last_used_at, backed_up_at }) => ({
      name,
      created_at,
      last_used_at,
      backed_up: backed_up_at !== null,
    })),
    identities: identities.map(({ user_id: _, ...identity }) => identity),
  };
}

/** Each page as JSON, without the brackets. */
type Pages = AsyncIterable<string>;

const sections = (deps: Deps, user_id: string, isForThemselves: boolean): Readonly<Record<string, Pages>> => ({
  sessions: once(async () =>
    (await listSessions(deps, user_id)).map((session) => ({
      ...sessionRecord(session),
      name: session.name,
      user_agent: session.user_agent,
    })),
  ),
  trusted_browsers: once(async () =>
    (await listTrustedBrowsers(deps, user_id)).map((browser) => ({
      ...trustedBrowserRecord(browser),
      user_agent: browser.user_agent,
    })),
  ),
  security_alerts: once(() => listAlerts(deps, user_id)),
  factor_recovery: once(async () => {
    const recovery = await recoveryUnderWay(deps, user_id);
    return recovery ? [{ ...recoveryRecord(recovery), user_agent: recovery.user_agent }] : [];
  }),
  grants: paged(async (after: string | undefined, limit) => {
    const { grants, next } = await listGrants(deps, user_id, { after, limit });
    const rows = grants.map((grant) => ({
      ...grantRecord(grant),
      used_by: grant.used_by,
      used_before_by: grant.used_before_by,
    }));
    return { rows, next };
  }),
  consents: once(() => listConsentsOfUser(deps.db, user_id)),
  clients: once(async () =>
    (await listOwnClients(deps, user_id)).map(({ client_id, name, status, created_at }) => ({
      client_id,
      name,
      status,
      created_at,
    })),
  ),
  entitlements: once(async () => (await entitlementHistory(deps, user_id, { limit: 1 })).entitlements.map(shown)),
  entitlement_versions: paged(async (before: string | undefined, limit) => {
    const { versions, next } = await entitlementHistory(deps, user_id, { before, limit });
    return { rows: versions.map(shown), next: next ?? undefined };
  }),
  /** What was done to the account, by the user or others. */
  events: paged(async (before: LogPlace | undefined, limit) => {
    const { events, next } = await readLog(deps, { target: user_id, before }, limit);
    return { rows: events.map((event) => eventAbout(user_id, event, isForThemselves)), next };
  }),
  /** What the user did to anything else. */
  events_by_user: paged(async (before: LogPlace | undefined, limit) => {
    const { events, next } = await readLog(deps, { actor: `user:${user_id}`, before }, limit);
    const others = events.filter(({ target }) => target !== user_id);
    return { rows: others.map(({ at, action, target, address }) => ({ at, action, target, address })), next };
  }),
  /** What others did to sessions, access of apps and memberships of the user. */
  events_by_others: paged(async (before: LogPlace | undefined, limit) => {
    const { events, next } = await readLog(deps, { of_user: user_id, before }, limit);
    const rows = events.map((event) => ({ target: event.target, ...eventAbout(user_id, event, isForThemselves) }));
    return { rows, next };
  }),
  /** Apps whose access ended with that of all their users. */
  lost_apps: paged(async (before: LostApp | undefined, limit) => {
    const rows = await lostAppsOf(deps.db, user_id, { before, limit });
    const next = rows.length === limit ? rows.at(-1) : undefined;
    return { rows: rows.map(({ user_id: _, grant_id: __, ...app }) => app), next };
  }),
  refused_sign_ins: paged(async (before: string | undefined, limit) => {
    const { events, next } = await listUnauthenticated(deps, { target: user_id, before, limit });
    return { rows: events, next };
  }),
});

const shown = <Row extends { metadata: unknown; external_customer_id: unknown; external_subscription_id: unknown }>({
  metadata: _,
  external_customer_id: __,
  external_subscription_id: ___,
  ...entitlement
}: Row) => entitlement;

const mostAnHour = 5;

/**
 * The same for the user themselves.
 * @throws {RequestError} `rate_limited`.
 */
export async function exportOwnData(deps: Deps, caller: Caller, user_id: UserId): Promise<FileAnswer> {
  const limit = windowLimit(deps, { name: 'own-export', limit: mostAnHour, windowSeconds: 3600 });
  await limit.take(user_id);
  return exportUser(deps, caller, user_id);
}

type LoggedEvent = Awaited<ReturnType<typeof readLog>>['events'][number];

/** What operators give out they read before. What users get by themselves has no reason that an administrator wrote. */
function eventAbout(
  user_id: string,
  { at, action, actor, reason, before, after, address }: LoggedEvent,
  isForThemselves: boolean,
) {
  const isOwn = actor === `user:${user_id}`;
  const isByApp = actor.startsWith('client:') || action === 'entitlement.written';
  if (!isOwn && isForThemselves)
    return { at, action, by: actor === 'system' ? 'system' : isByApp ? 'app' : 'administrator' };
  const by = isOwn ? 'user' : actor.startsWith('user:') ? 'administrator' : actor;
  return { at, action, by, reason, before, after, address: isOwn ? address : null };
}

const once = (read: () => Promise<readonly object[]>): Pages =>
  paged(async () => ({ rows: await read(), next: undefined }));

const paged = <Place>(
  read: (after: Place | undefined, limit: number) => Promise<{ rows: readonly object[]; next: Place | undefined }>,
): Pages =>
  inPages(async (after: Place | undefined, limit) => {
    const { rows, next } = await read(after, limit);
    return { page: rows.map((row) => JSON.stringify(row)).join(','), next };
  });
