import { findUser } from '../../../accounts/store.ts';
import { now } from '../../../platform/clock.ts';
import type { LimitDeps } from '../../../platform/deps.ts';
import { digest } from '../../../platform/ids.ts';
import { listPasskeys } from '../../credentials/passkeys.store.ts';
import { findPendingSignIn, type PendingSignIn } from '../../sessions/pending-sign-ins.store.ts';

export type FoundPendingSignIn = {
  attempt_hash: string;
  attempt: PendingSignIn;
  locale: string | null | undefined;
  /** They have a passkey, and have not come with one. */
  passkeys: boolean;
};

/** The sign-in between two factors that a browser's secret names, if it is not over. */
export async function currentPendingSignIn(
  deps: LimitDeps,
  token: string | undefined,
): Promise<FoundPendingSignIn | undefined> {
  if (token === undefined || token.length > 200) return undefined;
  const attempt_hash = digest(token);
  const attempt = await findPendingSignIn(
    deps.db,
    { attempt_hash, maxTries: deps.config.limits.codesPerSignIn },
    now(deps),
  );
  if (!attempt) return undefined;
  const [user, passkeys] = await Promise.all([
    findUser(deps.db, attempt.user_id),
    listPasskeys(deps.db, attempt.user_id),
  ]);
  return {
    attempt_hash,
    attempt,
    locale: user?.locale,
    passkeys: passkeys.length > 0 && !attempt.methods.includes('hwk'),
  };
}
