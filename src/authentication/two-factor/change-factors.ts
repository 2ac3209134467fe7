import { lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { MailDeps, StoreDeps } from '../../platform/deps.ts';
import { invalidState } from '../../platform/errors.ts';
import { type MailName, mailTo } from '../../platform/mail/mail-to.ts';
import { limitSecurityChanges } from '../credentials/security-changes.ts';
import { findTotp } from '../credentials/two-factor.store.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { isCurrentSession, sessionRefusal } from '../sessions/rotate-session-secret.ts';
import type { Session } from '../sessions/session.ts';
import { totpStatus } from './two-factor-state.ts';

/** Who changes their own factors, and where from. */
export type Owner = { session: Session; address: string };

type FactorChange = {
  action: 'totp.confirmed' | 'totp.disabled' | 'backup_codes.regenerated';
  mail: MailName;
  /** What still has to be true when the change is made. */
  require: Sql;
  statements: readonly Sql[];
};

/**
 * One change of factors, whole or not at all: with its event, its mail, and an end to every sign-in that is under way by
 * the factors of before. Of many at once that rest on the same state, one is made.
 * @throws {RequestError} `invalid_state` when the state has moved; `login_required` when the session has ended;
 * `rate_limited`.
 */
export async function changeFactors(deps: MailDeps, { session, address }: Owner, change: FactorChange): Promise<void> {
  const { user_id } = session;
  await limitSecurityChanges(deps, user_id);
  const at = now(deps);
  const event = auditEvent({ action: change.action, actor: `user:${user_id}`, target: user_id, address }, at);
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session), state: change.require },
    run: {
      factors: change.statements,
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      event: event.statement,
      mails: mailTo(deps, session, change.mail, { address }),
    },
  });
  if (done.ok) return;
  throw done.failed === 'session' ? await sessionRefusal(deps, session) : await invalidFactorState(deps, session);
}

export async function invalidFactorState(deps: StoreDeps, { user_id, session_id }: Session) {
  return invalidState(totpStatus(await findTotp(deps.db, user_id), session_id, now(deps)));
}
