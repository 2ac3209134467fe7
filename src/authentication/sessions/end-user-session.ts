import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { refuseAgainstAdministrator } from '../../accounts/new-administrator.ts';
import { findUser, lockUser } from '../../accounts/store.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import { notFound } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import type { RevocationDeps } from '../deps.ts';
import { endSession, isActiveSessionOf } from './store.ts';

/**
 * Ends one session of a person, with every grant that came from it: their own doing, or an administrator's, of which they
 * are told by mail.
 * @throws {RequestError} `not_found` for one that has ended, is unknown or is another person's, all alike;
 * `access_denied` as {@link refuseAgainstAdministrator} says.
 */
export async function endUserSession(
  deps: RevocationDeps,
  caller: Caller,
  { user_id, session_id }: { user_id: string; session_id: string },
  reason: 'administrator' | 'sign_out' = 'administrator',
): Promise<void> {
  await refuseAgainstAdministrator(deps, caller, user_id);
  const at = now(deps);
  const { statement } = auditEvent(
    { action: 'session.ended', ...caller, target: session_id, reason, after: { user_id } },
    at,
  );
  const mails = reason === 'administrator' ? await mailAbout(deps, { user_id, session_id }, at) : [];
  const done = await deps.db.change({
    lock: lockUser(user_id), // of two requests for the same session one finds it active
    require: { session: isActiveSessionOf(user_id, session_id, at) },
    run: {
      session: endSession(session_id, reason, at),
      grants: deps.grants.revokeOfSession({ user_id, session_id }, reason, at),
      event: statement,
      mails,
    },
  });
  if (!done.ok) throw notFound();
}

async function mailAbout(
  deps: RevocationDeps,
  ending: { user_id: string; session_id: string },
  at: number,
): Promise<Sql[]> {
  const { user_id, session_id } = ending;
  const user = await findUser(deps.db, user_id);
  if (!user || !(await deps.db.holds(isActiveSessionOf(user_id, session_id, at)))) return [];
  const sendsMail = await mayMailAbout(deps, 'session_ended', user_id, maxMailsAboutRevocations);
  return sendsMail ? mailTo(deps, user, 'session_ended') : [];
}
