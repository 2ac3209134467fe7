import { findUser } from '../../../accounts/store.ts';
import { now } from '../../../platform/clock.ts';
import type { LimitDeps } from '../../../platform/deps.ts';
import { digest } from '../../../platform/ids.ts';
import { listPasskeys } from '../../credentials/passkeys.store.ts';
import { findAttempt, type SignInAttempt } from '../../sessions/pending-sign-ins.store.ts';

export type FoundAttempt = {
  attempt_hash: string;
  attempt: SignInAttempt;
  locale: string | null | undefined;
  /** They have a passkey, and have not come with one. */
  passkeys: boolean;
};

/** The sign-in between two factors that a browser's secret names, if it is not over. */
export async function findWaiting(deps: LimitDeps, token: string | undefined): Promise<FoundAttempt | undefined> {
  if (token === undefined || token.length > 200) return undefined;
  const attempt_hash = digest(token);
  const attempt = await findAttempt(deps.db, { attempt_hash, mostTries: deps.config.limits.codesPerSignIn }, now(deps));
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
