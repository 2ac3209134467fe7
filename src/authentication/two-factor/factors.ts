import { lockUser } from '../../accounts/users.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { MailDeps, StoreDeps } from '../../platform/deps.ts';
import { invalidState } from '../../platform/errors.ts';
import { type MailName, mailTo } from '../../platform/mail/outbox.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { limitSecurityChanges } from '../credentials/sign-in-methods.ts';
import {
  type BackupCodeCount,
  countBackupCodes,
  deleteBackupCodes,
  deleteTotp,
  type Enrolling,
  findTotp,
  isActiveTotp,
  replaceBackupCodes,
  type TotpRow,
  triesPerEnrollment,
} from '../credentials/two-factor.store.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { isCurrentSession, type Session, sessionRefusal } from '../sessions/session.ts';
import { newBackupCodes } from './backup-codes.ts';

type TotpStatus = 'none' | 'pending' | 'active';

/** Decisions §10. Times are Unix seconds. */
export type TwoFactorState = {
  /** Whether a second factor is required at sign-in. */
  enabled: boolean;
  /** What the user could give as one. */
  methods: ('totp' | 'backup_codes' | 'passkey')[];
  totp: { status: TotpStatus; confirmed_at: number | null; last_used_at: number | null };
  backup_codes: BackupCodeCount;
  passkeys: { count: number };
};

export async function twoFactorState(deps: StoreDeps, { user_id, session_id }: Enrolling): Promise<TwoFactorState> {
  const [totp, backup_codes, passkeys] = await Promise.all([
    findTotp(deps.db, user_id),
    countBackupCodes(deps.db, user_id),
    listPasskeys(deps.db, user_id),
  ]);
  const status = totpStatus(totp, session_id, now(deps));
  const methods: TwoFactorState['methods'] = [];
  if (status === 'active') methods.push('totp');
  if (backup_codes.remaining > 0) methods.push('backup_codes');
  if (passkeys.length > 0) methods.push('passkey');
  return {
    enabled: status === 'active',
    methods,
    totp: { status, confirmed_at: totp?.confirmed_at ?? null, last_used_at: totp?.last_used_at ?? null },
    backup_codes,
    passkeys: { count: passkeys.length },
  };
}

/** Active also while another secret is pending that would replace it. */
function totpStatus(totp: TotpRow | undefined, session_id: string, at: number): TotpStatus {
  if (totp && totp.confirmed_at !== null) return 'active';
  return pendingSecret(totp, session_id, at) === undefined ? 'none' : 'pending';
}

/** @returns the sealed secret that the session may confirm, if there is one. */
export function pendingSecret(totp: TotpRow | undefined, session_id: string, at: number): string | undefined {
  const { pending_secret_sealed = null, pending_session_id, pending_expires_at, pending_tries } = totp ?? {};
  if (pending_secret_sealed === null || pending_session_id !== session_id) return undefined;
  return (pending_expires_at ?? 0) > at && (pending_tries ?? 0) < triesPerEnrollment
    ? pending_secret_sealed
    : undefined;
}

/** A user who changes their own factors. */
export type Owner = { session: Session; address: string };

type FactorChange = {
  action: 'totp.confirmed' | 'totp.disabled' | 'backup_codes.regenerated';
  mail: MailName;
  /** The state that the change was decided on: of many concurrent changes of one state, one is made. */
  require: Sql;
  statements: readonly Sql[];
};

/**
 * Changes the factors, with the event and the mail, and ends the user's pending sign-ins, which have used the old ones.
 * @throws {RequestError} `invalid_state` when the state has changed; `login_required` when the session has ended;
 * `rate_limited`.
 */
export async function changeFactors(deps: MailDeps, { session, address }: Owner, change: FactorChange): Promise<void> {
  const { user_id } = session;
  await limitSecurityChanges(deps, user_id);
  const { statement } = auditEvent(
    { action: change.action, actor: `user:${user_id}`, target: user_id, address },
    now(deps),
  );
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session), state: change.require },
    run: {
      factors: change.statements,
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      event: statement,
      mails: mailTo(deps, session, change.mail, { address }),
    },
  });
  if (done.ok) return;
  throw done.failed === 'session' ? await sessionRefusal(deps, session) : await invalidFactorState(deps, session);
}

export async function invalidFactorState(deps: StoreDeps, { user_id, session_id }: Session) {
  return invalidState(totpStatus(await findTotp(deps.db, user_id), session_id, now(deps)));
}

/** @throws {RequestError} `invalid_state` unless TOTP is active. */
async function requireActiveTotp(deps: StoreDeps, session: Session): Promise<Sql> {
  const totp = await findTotp(deps.db, session.user_id);
  if (!totp?.secret_sealed) throw await invalidFactorState(deps, session);
  return isActiveTotp(session.user_id, totp.secret_sealed);
}

/**
 * Turns TOTP off, with the backup codes and any pending secret.
 * @throws {RequestError} `invalid_state` unless it is active; as {@link changeFactors}.
 */
export async function disableTotp(deps: MailDeps, owner: Owner): Promise<void> {
  const { user_id } = owner.session;
  await changeFactors(deps, owner, {
    action: 'totp.disabled',
    mail: 'totp_disabled',
    require: await requireActiveTotp(deps, owner.session),
    statements: [deleteBackupCodes(user_id), deleteTotp(user_id)],
  });
}

/**
 * Replaces all backup codes.
 * @returns ten new ones, which are not shown again.
 * @throws {RequestError} `invalid_state` unless TOTP, which they stand in for, is active; as {@link changeFactors}.
 */
export async function regenerateBackupCodes(deps: MailDeps, owner: Owner): Promise<string[]> {
  const { user_id } = owner.session;
  const require = await requireActiveTotp(deps, owner.session);
  const { codes, hashes } = newBackupCodes();
  await changeFactors(deps, owner, {
    action: 'backup_codes.regenerated',
    mail: 'backup_codes_regenerated',
    require,
    statements: replaceBackupCodes(user_id, hashes, now(deps)),
  });
  return codes;
}
