import { roleHeldSince } from '../../accounts/administrators.ts';
import type { SessionDeps } from '../../platform/deps.ts';
import { twoFactors } from './authentication.ts';
import type { Session } from './store.ts';

/** For a new administrator, who cannot have known before. */
const graceSeconds = 7 * 86_400;

/**
 * From when an administrator without a second factor has no access to administration, where the operator requires one.
 * @returns Unix seconds; undefined where none is required, and for who has one: whether it was used is decided elsewhere.
 */
export async function secondFactorDue(
  deps: Pick<SessionDeps, 'db' | 'config'>,
  session: Session,
): Promise<number | undefined> {
  const { adminSecondFactorFrom } = deps.config;
  const { role, acr, lacks_strongest_factor, user_id, user_created_at } = session;
  const hasFactor = acr === twoFactors || lacks_strongest_factor;
  if (adminSecondFactorFrom === undefined || role !== 'admin' || hasFactor) return undefined;
  return Math.max(adminSecondFactorFrom, ((await roleHeldSince(deps, user_id)) ?? user_created_at) + graceSeconds);
}
