import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Deps, MailDeps, StoreDeps } from '../../platform/deps.ts';
import { invalidState } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import type { LetterName } from '../../platform/mail/letters.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { limitSecurityChanges } from '../credentials/sign-in-methods.ts';
import {
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
import { endSecondSteps } from '../sessions/second-steps.ts';
import { changeOwnAccount, type Owner } from '../sessions/session.ts';
import type { Session } from '../sessions/store.ts';
import { newBackupCodes } from './backup-codes.ts';

/** Decisions §10. */
export const TwoFactorState = Type.Object({
  enabled: Type.Boolean({ description: 'Whether a second factor is required at sign-in.' }),
  methods: Type.Array(Type.Enum(['totp', 'backup_codes', 'passkey']), {
    description: 'The second factors that the user can use.',
  }),
  totp: Type.Object({
    status: Type.Enum(['none', 'pending', 'active']),
    confirmed_at: nullable(Time),
    last_used_at: nullable(Time),
  }),
  backup_codes: Type.Object({
    total: Type.Integer({ minimum: 0 }),
    remaining: Type.Integer({ minimum: 0 }),
    generated_at: nullable(Time),
  }),
  passkeys: Type.Object({ count: Type.Integer({ minimum: 0 }) }),
});
export type TwoFactorState = Static<typeof TwoFactorState>;

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

function totpStatus(totp: TotpRow | undefined, session_id: string, at: number): TwoFactorState['totp']['status'] {
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

type FactorChange = {
  action: 'totp.confirmed' | 'totp.disabled' | 'backup_codes.regenerated';
  mail: LetterName;
  /** The state that the change was decided on: of many concurrent changes of one state, one is made. */
  state: Sql;
  factors: readonly Sql[];
};

/**
 * Changes the factors and ends the user's pending sign-ins, which have used the old ones.
 * @throws {RequestError} `invalid_state` when the state has changed; `rate_limited`; as {@link changeOwnAccount}.
 */
export async function changeFactors(deps: MailDeps, owner: Owner, change: FactorChange): Promise<void> {
  const { action, mail, state, factors } = change;
  const { user_id } = owner.session;
  await limitSecurityChanges(deps, user_id);
  const failed = await changeOwnAccount(deps, owner, {
    action,
    mail,
    require: { state },
    run: { factors, secondSteps: endSecondSteps(user_id, now(deps)) },
  });
  if (failed) throw await invalidFactorState(deps, owner.session);
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
    state: await requireActiveTotp(deps, owner.session),
    factors: [deleteBackupCodes(user_id), deleteTotp(user_id)],
  });
}

/**
 * @returns ten new codes, which replace all others and are not shown again.
 * @throws {RequestError} `invalid_state` unless TOTP is active; as {@link changeFactors}.
 */
export async function regenerateBackupCodes(deps: MailDeps & Pick<Deps, 'vault'>, owner: Owner): Promise<string[]> {
  const { user_id } = owner.session;
  const state = await requireActiveTotp(deps, owner.session);
  const { codes, hashes } = newBackupCodes(deps, user_id);
  await changeFactors(deps, owner, {
    action: 'backup_codes.regenerated',
    mail: 'backup_codes_regenerated',
    state,
    factors: replaceBackupCodes(user_id, hashes, now(deps)),
  });
  return codes;
}
