import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import {
  type BackupCodeCount,
  countBackupCodes,
  type Enrolling,
  findTotp,
  type TotpRow,
  triesPerEnrollment,
} from '../credentials/two-factor.store.ts';

type TotpStatus = 'none' | 'pending' | 'active';

/** Decisions §10. Times are Unix seconds. */
export type TwoFactorState = {
  /** Whether a second factor is asked for at sign-in. */
  enabled: boolean;
  /** What this person could give as one. */
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

/** An active secret counts more than one that waits beside it to replace it. */
export function totpStatus(totp: TotpRow | undefined, session_id: string, at: number): TotpStatus {
  if (totp && totp.confirmed_at !== null) return 'active';
  return pendingSecret(totp, session_id, at) === undefined ? 'none' : 'pending';
}

/** @returns the sealed secret that waits in that session for its first code, while it may still be confirmed. */
export function pendingSecret(totp: TotpRow | undefined, session_id: string, at: number): string | undefined {
  const { pending_secret_sealed = null, pending_session_id, pending_expires_at, pending_tries } = totp ?? {};
  if (pending_secret_sealed === null || pending_session_id !== session_id) return undefined;
  return (pending_expires_at ?? 0) > at && (pending_tries ?? 0) < triesPerEnrollment
    ? pending_secret_sealed
    : undefined;
}
