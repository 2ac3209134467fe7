import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { endLinksGivenBy, endLinksGivenElsewhere, findUser, lockUser } from '../../accounts/statements.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields, notFound } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import { canonicalAddress } from '../../platform/ip-address.ts';
import { mailTo, reasonForMail } from '../../platform/mail/letters.ts';
import { Type } from '../../platform/schema.ts';
import { matcherOf, maxWords } from '../../platform/search-terms.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import { deletePendingTotp } from '../credentials/two-factor.store.ts';
import type { Deps, RevocationDeps } from '../deps.ts';
import { deviceName } from './browser.ts';
import { endSecondSteps } from './second-steps.ts';
import { type Owner, ownEvent } from './session.ts';
import {
  activeSessionsOf,
  endOtherSessions,
  endSession,
  hasOtherActiveAccess,
  isActiveSessionOf,
  type ListedSession,
  renameSession,
  type Session,
} from './store.ts';
import { deleteTrustOfSession } from './trusted-browsers.store.ts';

// The statements on sessions that other rooms put into their changes and jobs.

/**
 * A user's active sessions, a hundred at most, last used first.
 * @param query beginnings of words of the device; an IP address or its beginning; or a session_id.
 */
export async function listSessions(deps: StoreDeps, user_id: string, query = ''): Promise<ListedSession[]> {
  const sessions = await activeSessionsOf(deps.db, user_id, now(deps));
  if (query.trim() === '') return sessions;
  const words = query.trim().split(/\s+/, maxWords);
  return sessions.filter(
    ({ session_id, address, user_agent }) =>
      session_id === query.trim() ||
      words.every((word) => matcherOf(word)(deviceName(user_agent) ?? '') || isAddressFoundBy(word, address ?? '')),
  );
}

/** An address that is complete is no beginning of others: 10.0.0.1 does not find 10.0.0.15. */
function isAddressFoundBy(word: string, address: string): boolean {
  const wanted = canonicalAddress(word);
  const canonical = canonicalAddress(address) ?? address;
  return wanted === undefined ? canonical.startsWith(word.toLowerCase()) : canonical === wanted;
}

/** A session in answers: without its secret, its name, and the User-Agent as it was sent. */
export const SessionRecord = Type.Object({
  session_id: Type.String(),
  device: nullable(Type.String({ description: 'Browser and operating system, from the User-Agent header.' })),
  address: nullable(Type.String({ description: 'Where it signed in from.' })),
  created_at: Time,
  auth_time: Time,
  last_seen_at: Time,
  expires_at: Time,
  amr: Type.Array(Type.String()),
  acr: Type.String(),
});

export const sessionRecord = ({ user_agent, name: _, ...session }: ListedSession) => ({
  ...session,
  device: deviceName(user_agent) ?? null,
});

/**
 * Names a session of the user, or takes its name away. Only its user's own pages and the export of their data show it, and
 * nothing depends on it, so no event reports it; the browser stays visible beside it, and no session can be passed off as another device.
 * @throws {RequestError} `invalid_request` for a name as {@link displayNameProblem} says; `not_found` for a session that has
 * ended, is unknown or belongs to another user, all alike.
 */
export async function nameSession(
  deps: StoreDeps,
  { user_id, session_id }: { user_id: string; session_id: string },
  name: string | null,
): Promise<boolean> {
  if (name !== null && displayNameProblem(name)) throw invalidFields([fieldProblem('name', { key: 'problem.name' })]);
  const stored = name === null ? null : normalizeName(name);
  requirePlaceOfUser(deps, user_id, session_id);
  const { changes } = await deps.db.of(user_id).run(renameSession(user_id, session_id, stored, now(deps)));
  if (changes > 0) return true;
  const sessions = await activeSessionsOf(deps.db, user_id, now(deps));
  if (!sessions.some((one) => one.session_id === session_id)) throw notFound();
  return false;
}

/** `provider`: the id of the one that has ended it. */
type SignOutReason = { reason: 'sign_out' | 'replay' | 'provider_sign_out' | 'provider_signal'; provider?: string };

/** The statements that sign out. The event comes first: it is written only if the session is active. */
export function signOutStatements(
  { grants }: Pick<Deps, 'grants'>,
  { user_id, session_id }: Pick<Session, 'user_id' | 'session_id'>,
  caller: Caller,
  at: number,
  { reason, provider }: SignOutReason = { reason: 'sign_out' },
): Sql[] {
  const event = {
    action: 'session.ended',
    ...caller,
    target: session_id,
    reason,
    after: { user_id, provider },
  } as const;
  return [
    auditEvent({ ...event, onlyIf: isActiveSessionOf(user_id, session_id, at) }, at).statement,
    endSession(session_id, reason, at),
    ...grants.revokeOfSession({ user_id, session_id }, reason === 'replay' ? reason : 'sign_out', at),
  ];
}

export async function signOut(deps: StoreDeps & Pick<Deps, 'grants'>, session: Session): Promise<void> {
  const ended = signOutStatements(deps, session, { actor: `user:${session.user_id}` }, now(deps));
  // Of several requests at once, one finds the session active.
  await deps.db.of(session.user_id).change({ lock: lockUser(session.user_id), run: { ended } });
}

/**
 * Signs a user out everywhere else: all other sessions, and all grants that did not come from this one, also those that
 * have outlived their session. What another session has given by links ends, too; by which one is not known.
 */
export const endOthersStatements = (
  { grants }: Pick<Deps, 'grants'>,
  owner: Owner,
  { reason, onlyIf }: { reason: string; onlyIf?: Sql },
  at: number,
) => {
  const { user_id, session_id } = owner.session;
  const after = { kept_session_id: session_id };
  return {
    event: ownEvent(owner, { action: 'session.ended_others', reason, after, onlyIf }, at), // before `onlyIf` changes
    sessions: endOtherSessions(user_id, session_id, 'sign_out', at),
    grants: grants.revokeOfOtherSessions(user_id, session_id, 'sign_out', at),
    links: endLinksGivenBy(user_id),
  };
};

/**
 * {@link endOthersStatements}, and ends all pending sign-ins and an enrollment of TOTP that is not confirmed yet.
 * @returns the number of active sessions that were ended.
 */
export async function endOwnOtherSessions(deps: StoreDeps & Pick<Deps, 'grants'>, owner: Owner): Promise<number> {
  const { user_id, session_id } = owner.session;
  const at = now(deps);
  const onlyIf = hasOtherActiveAccess(user_id, session_id, at, deps.grants.hasGrantElsewhere(user_id, session_id));
  await endLinksGivenElsewhere(deps.db, user_id);
  const { results } = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    run: {
      ...endOthersStatements(deps, owner, { reason: 'sign_out', onlyIf }, at),
      secondSteps: endSecondSteps(user_id, at, { trust: owner.session.trusted_by }),
      pendingTotp: deletePendingTotp(user_id),
    },
  });
  return results.sessions.changes;
}

/** Only the user's own are there. @throws {RequestError} `not_found` */
function requirePlaceOfUser({ db }: Pick<StoreDeps, 'db'>, user_id: string, session_id: string): void {
  if (db.of(session_id) !== db.of(user_id)) throw notFound();
}

/** Who ended it, for the row of the session; `words` of an administrator, for the log and the user, instead of that. */
type EndReason = { by: 'administrator' | 'sign_out'; words?: string | undefined };

/**
 * Ends one session of a user, with every grant that came from it. The user gets a mail if an administrator ended it.
 * @throws {RequestError} `not_found` for one that has ended, is unknown or belongs to another user, all alike;
 * `access_denied` as {@link refuseAgainstAdministrator} says; `invalid_request` for words that are no reason.
 */
export async function endUserSession(
  deps: RevocationDeps,
  caller: Caller,
  { user_id, session_id }: { user_id: string; session_id: string },
  { by, words }: EndReason,
): Promise<void> {
  const written = words === undefined ? undefined : readReason(words);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const at = now(deps);
  const reason = written ?? by;
  const event = { action: 'session.ended', ...caller, target: session_id, reason, after: { user_id } } as const;
  const mails = by === 'administrator' ? await mailAbout(deps, { user_id, session_id }, written, at) : [];
  requirePlaceOfUser(deps, user_id, session_id);
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id), // of two requests for the same session only one finds it active
    require: { session: isActiveSessionOf(user_id, session_id, at) },
    run: {
      trust: deleteTrustOfSession(user_id, session_id),
      session: endSession(session_id, by, at),
      grants: deps.grants.revokeOfSession({ user_id, session_id }, by, at),
      event: auditEvent(event, at).statement,
      mails,
    },
  });
  if (!done.ok) throw notFound();
}

async function mailAbout(
  deps: RevocationDeps,
  { user_id, session_id }: { user_id: string; session_id: string },
  written: string | undefined,
  at: number,
): Promise<Sql[]> {
  const user = await findUser(deps.db, user_id);
  if (!user || !(await deps.db.of(user_id).holds(isActiveSessionOf(user_id, session_id, at)))) return [];
  const sendsMail = await mayMailAbout(deps, 'session_ended', user_id, maxMailsAboutRevocations);
  return sendsMail ? mailTo(deps, user, 'session_ended', reasonForMail(written)) : [];
}
