import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { findUser } from '../../accounts/statements.ts';
import { type Actor, auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { valuesForMail } from '../../authentication/alerts/alert-mail.ts';
import type { RaisedAlert } from '../../authentication/alerts/raise-alert.ts';
import type { Grants, RevocationReason } from '../../authentication/deps.ts';
import type { Deps } from '../../clients/deps.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { Part } from '../../platform/db/db.ts';
import { workIn } from '../../platform/db/parts.ts';
import { cutPage, decodeCursor, inSlices } from '../../platform/db/slices.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { LimitDeps, StoreDeps } from '../../platform/deps.ts';
import { notFound } from '../../platform/errors.ts';
import { type ClientId, type GrantId, newId, type UserId } from '../../platform/ids.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { mailTo, reasonForMail } from '../../platform/mail/letters.ts';
import { counter } from '../../platform/metrics.ts';
import { rangesOf } from '../../platform/search-terms.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import {
  type BulkRevocation,
  type BulkRevocationPlace,
  deleteBulkRevocation,
  endGrantsOfSuspended,
  listBulkRevocations,
} from './bulk-revocations.store.ts';
import { rememberDeletedOf } from './deletions.store.ts';
import { findGrant, type Grant } from './grant.store.ts';
import { activeGrantsOf, hasGrantElsewhere, type ListedGrant } from './lists.store.ts';
import { enqueueLogouts } from './logout-deliveries.store.ts';
import {
  applyBulkRevocation,
  deleteSurplusCodes,
  deleteSurplusExpired,
  deleteSurplusRevoked,
  expireIdleGrants,
  revokeGrants,
  revokeGrantsToClient,
  setRevoked,
} from './store.ts';
import {
  countCrowd,
  findSurplusGrants,
  type GrantKeys,
  hasMaxCodes,
  hasMaxExpired,
  hasMaxGrants,
} from './surplus-grants.store.ts';
import { countConnectedUsers, lastSignInOf } from './usage.store.ts';

/** How much a client is used, for whom is about to end that. Reads a bounded number of its grants. */
export async function readUsage({ db, clock }: Pick<Deps, 'db' | 'clock'>, client_id: ClientId) {
  const [connected, last_sign_in_at] = await Promise.all([
    countConnectedUsers(db, client_id, now({ clock })),
    lastSignInOf(db, client_id),
  ]);
  return { ...connected, last_sign_in_at };
}
export type ClientUsage = Awaited<ReturnType<typeof readUsage>>;

type RevocationDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'mail'>;

type Revocation = {
  grant: Pick<Grant, 'grant_id' | 'user_id' | 'client_id' | 'session_id' | 'revoked_at'>;
  reason: RevocationReason;
  /** What an administrator has written, for the log and the user. */
  words?: string | undefined;
  actor: Actor;
  address?: string;
  /** What the user is asked about it. */
  alert?: RaiseAlert;
};

/** @param onlyIf of the event that reports it. */
export type RaiseAlert = (onlyIf: Sql | undefined) => RaisedAlert;

const revocations = counter(
  'signet_revocations_total',
  'Revocations by reason, and of what: one of a user, session or client ends any number of grants.',
  'reason',
  'of',
);

/**
 * Revokes a grant with all its tokens, unless it is revoked already. The user gets a mail if neither they nor the client
 * asked for it.
 */
export async function revokeGrant(deps: RevocationDeps, revocation: Revocation): Promise<void> {
  const counter = eventCounter(deps, revocation);
  const alert = revocation.alert?.(counter?.isWithin);
  const mail = await mailAbout(deps, revocation, alert);
  const { grant_id } = revocation.grant;
  const run = { ...statementsOf(deps, revocation, counter, alert), alert: alert?.statements, mail };
  const done = await deps.db.of(grant_id).change({ run });
  if (done.ok) revocations.count(revocation.reason, 'grant');
}

/** Their clients and the audit log are notified; the grant is not changed if it is revoked already. */
function statementsOf(
  deps: LimitDeps,
  revocation: Revocation,
  counter = eventCounter(deps, revocation),
  alert?: RaisedAlert,
) {
  const { grant, reason } = revocation;
  const at = now(deps);
  const batch = newId('lo');
  return {
    grant: mustChange(setRevoked(grant.grant_id, reason, at, batch)),
    logouts: enqueueLogouts(batch, at),
    surplus: deleteSurplusRevoked(grant.user_id, at),
    ...eventStatements(revocation, counter, at, alert),
  };
}

/**
 * An app can sign its user in and revoke the grant any number of times, and each event stays for good. So of one user, client
 * and reason an hour has a limited number of them; the first one beyond says so. Grants are revoked beyond it all the same.
 */
function eventCounter(deps: LimitDeps, { grant, reason }: Revocation) {
  const limit = { limit: deps.config.limits.revocationEventsPerHour, windowSeconds: 3600 };
  return reason === 'administrator'
    ? undefined
    : windowLimit(deps, { ...limit, name: `revocations-${reason}` }).counted(`${grant.user_id}:${grant.client_id}`);
}

function eventStatements(
  { grant, reason, words, actor, address }: Revocation,
  counter: ReturnType<typeof eventCounter>,
  at: number,
  alert: RaisedAlert | undefined,
) {
  const { grant_id, user_id, client_id, session_id } = grant;
  const event = { action: 'grant.revoked', actor, target: grant_id, reason: words ?? reason, address } as const;
  const after = { user_id, client_id, session_id, ...(alert && { alert_id: alert.alert_id }) };
  const afterBeyond = { ...after, further_of_this_hour: 'not recorded' };
  return {
    count: counter?.count,
    event: auditEvent({ ...event, after, onlyIf: counter?.isWithin }, at).statement,
    lastEvent: counter && auditEvent({ ...event, after: afterBeyond, onlyIf: counter.isFirstBeyond }, at).statement,
  };
}

/** Of the users and clients for which {@link endSurplus} is at work. */
const ending = new Set<string>();

type SurplusDeps = LimitDeps & Pick<Deps, 'timekeeper'>;

/**
 * Deletes the oldest codes and expired grants, and revokes the oldest active grants, when a user has too many for a client. Of
 * requests that find it out together, one does so. While the clock is in doubt nothing counts as expired.
 */
export async function endSurplus(deps: SurplusDeps, made: GrantKeys): Promise<void> {
  const pair = `${made.user_id} ${made.client_id}`;
  if (ending.has(pair)) return;
  ending.add(pair);
  try {
    await endSurplusBeside(deps, made);
  } finally {
    ending.delete(pair);
  }
}

async function endSurplusBeside(deps: SurplusDeps, made: GrantKeys): Promise<void> {
  const { user_id, client_id } = made;
  const at = now(deps);
  const crowd = await countCrowd(deps.db, user_id, client_id, at);
  if (!crowd) return;
  if (hasMaxExpired(crowd) && deps.timekeeper.isSettled()) await deleteSurplusExpired(deps.db, made, at);
  if (hasMaxCodes(crowd)) await deleteSurplusCodes(deps.db, made, at);
  if (hasMaxGrants(crowd)) await endSurplusGrants(deps, user_id, client_id, at);
}

async function endSurplusGrants(deps: SurplusDeps, user_id: UserId, client_id: ClientId, at: number): Promise<void> {
  if (deps.timekeeper.isSettled()) await expireIdleGrants(deps.db, user_id, client_id, at);
  for (const found of await findSurplusGrants(deps.db, user_id, client_id, at)) {
    const grant = { ...found, user_id, client_id, revoked_at: null };
    const statements = statementsOf(deps, { grant, reason: 'surplus', actor: 'system' });
    const done = await deps.db.of(user_id).change({ run: statements });
    if (done.ok) revocations.count('surplus', 'grant');
  }
}

const mailOf: Partial<Record<RevocationReason, 'grant_replayed' | 'grant_ended'>> = {
  replay: 'grant_replayed',
  code_replay: 'grant_replayed',
  administrator: 'grant_ended',
};

async function mailAbout(
  deps: RevocationDeps,
  { grant, reason, words }: Revocation,
  alert: RaisedAlert | undefined,
): Promise<Sql[]> {
  const name = mailOf[reason];
  if (name === undefined || grant.revoked_at !== null || !deps.mail.works) return [];
  const [user, client] = await Promise.all([findUser(deps.db, grant.user_id), deps.clients.find(grant.client_id)]);
  if (!user || !client || !(await mayMailAbout(deps, name, grant.user_id, maxMailsAboutRevocations))) return [];
  const about = alert ? valuesForMail(deps, user, alert) : {};
  return mailTo(deps, user, name, { app: client.name, ...reasonForMail(words), ...about });
}

/**
 * @param words the reason, for the log and the user; only programs and commands may leave it out.
 * @throws {RequestError} `not_found` if the grant is unknown or revoked already; `invalid_request` for a reason that is none.
 */
export async function revokeGrantByAdministrator(
  deps: RevocationDeps,
  caller: Caller,
  grant_id: GrantId,
  words?: string,
): Promise<void> {
  const written = words === undefined ? undefined : readReason(words);
  const grant = await findGrant(deps.db, grant_id);
  if (!grant || grant.revoked_at !== null) throw notFound();
  await revokeGrant(deps, { grant, reason: 'administrator', words: written, ...caller });
}

/**
 * A user's active grants, newest first.
 * @param page.query beginnings of words of the client's name; or the id of a grant, a client or a session.
 * @param page.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function listGrants(
  deps: StoreDeps,
  user_id: UserId,
  { query = '', after, limit }: { query?: string; after?: string; limit: number },
): Promise<{ grants: ListedGrant[]; next: string | undefined }> {
  const cursor = decodeCursor('after', after);
  const place = cursor && { created_at: cursor.at, grant_id: cursor.id };
  const id = query.trim().slice(0, 254);
  const search = id === '' ? undefined : { id, ranges: rangesOf(id) };
  const found = await activeGrantsOf(deps.db, user_id, now(deps), { search, after: place, limit: limit + 1 });
  const { rows, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.grant_id }));
  return { grants: rows, next };
}

/** As administrators read it. */
export const grantRecord = ({ scope, refreshed_at, used_by: _, used_before_by: __, ...grant }: ListedGrant) => ({
  ...grant,
  scope: scope.split(' '),
  last_used_at: refreshed_at,
});

/** For a change, which it counts as committed. `app`: a user's grants to one client. */
export function revokeAll(of: 'user' | 'session' | 'app', which: Parameters<typeof revokeGrants>[0]) {
  return (reason: RevocationReason, at: number): Sql[] => {
    revocations.count(reason, of);
    return revokeGrants(which, reason, at);
  };
}

export const revokeGrantsOfUser = (user_id: UserId, reason: RevocationReason, at: number): Sql[] =>
  revokeAll('user', { user_id })(reason, at);

/** What lower rooms revoke together with a session, a password or a client. */
export const grants: Grants = {
  revokeOfUser: revokeGrantsOfUser,
  revokeOfSession: ({ user_id, session_id }, reason, at) => revokeAll('session', { user_id, session_id })(reason, at),
  revokeOfOtherSessions: (user_id, kept_session_id, reason, at) =>
    revokeAll('user', { user_id, kept_session_id })(reason, at),
  revokeOfClient(client_id, reason, at) {
    revocations.count(reason, 'client');
    return revokeGrantsToClient(client_id, reason, at);
  },
  rememberDeletedOf,
  hasGrantElsewhere,
};

/** Read at a time. One run of the job goes over all: those that it has written stay for an hour, and would keep later ones waiting. */
const bulkRevocationsPerPage = 1000;
/**
 * Seconds. On PostgreSQL a code that is written at the very moment of a bulk revocation belongs to the epoch before and
 * becomes visible a moment later. So a bulk revocation is kept for longer than any statement may take.
 */
const leastKeptSeconds = 600;
/** And for as long as a token that it covers may be in use, since a list of revoked tokens finds them by it. The clocks of two processes may be apart. */
const keptSeconds = accessTokenSeconds + 600;

/**
 * Writes bulk revocations to the rows of their grants (decisions §7: every revocation is on the row, with its reason).
 * Nothing depends on when, since until then every read asks for the bulk revocation itself. Safe on every node at any
 * time; after a crash the next run continues.
 * @returns false if the signal ended it before all was done.
 */
export async function applyBulkRevocations(deps: StoreDeps, signal?: AbortSignal): Promise<boolean> {
  const areDone = await workIn(deps.db.parts, async (part) => {
    if (part.schema !== undefined) await part.run(endGrantsOfSuspended(now(deps)));
    for await (const revocation of everyBulkRevocation(part)) {
      const isDone = await inSlices((rows) => applyBulkRevocation(part, revocation, rows, now(deps)), signal);
      if (!isDone) return false;
      const age = now(deps) - revocation.ended_at;
      if (age > leastKeptSeconds) await deleteBulkRevocation(part, revocation, age > keptSeconds);
    }
    return true;
  });
  return areDone.every(Boolean);
}

async function* everyBulkRevocation(part: Part): AsyncGenerator<BulkRevocation> {
  let after: BulkRevocationPlace | undefined = { ended_at: 0, epoch: 0, ending_id: '' };
  while (after) {
    const page: BulkRevocation[] = await listBulkRevocations(part, after, bulkRevocationsPerPage);
    yield* page;
    after = page.length < bulkRevocationsPerPage ? undefined : page.at(-1);
  }
}
