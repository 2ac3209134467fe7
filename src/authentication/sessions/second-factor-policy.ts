import { roleHeldSince } from '../../accounts/administrators.ts';
import { isPrivileged } from '../../accounts/roles.ts';
import { now } from '../../platform/clock.ts';
import type { Deps, SessionDeps } from '../../platform/deps.ts';
import { enrollmentRequired, reauthenticationRequired } from '../../platform/errors.ts';
import { twoFactors } from './authentication.ts';
import type { Session } from './store.ts';

/** For a new administrator, who cannot have known before. */
const graceSeconds = 7 * 86_400;

type Factors = Pick<Session, 'acr' | 'lacks_strongest_factor'>;

/** The account has neither TOTP nor a passkey. */
export const hasNoSecondFactor = ({ acr, lacks_strongest_factor }: Factors): boolean =>
  acr !== twoFactors && !lacks_strongest_factor;

/** Whether the operator requires a second factor of every user by now. */
export const requiresSecondFactor = (deps: Pick<Deps, 'config' | 'clock'>): boolean =>
  now(deps) >= (deps.config.secondFactorFrom ?? Number.POSITIVE_INFINITY);

/** @throws {RequestError} `reauthentication_required` of a session with one factor; its page asks for, or sets up, another. */
export function requireTwoFactors(session: Factors, maxAge: number): void {
  if (hasNoSecondFactor(session)) throw enrollmentRequired(maxAge, twoFactors);
  if (session.lacks_strongest_factor) throw reauthenticationRequired(maxAge, twoFactors);
}

/**
 * From when an administrator, or a user of a lesser role, without a second factor has no access to administration, where the operator requires one.
 * @returns Unix seconds; undefined where none is required, and for who has one: whether it was used is decided elsewhere.
 */
export async function administratorFactorDue(
  deps: Pick<SessionDeps, 'db' | 'config'>,
  session: Session,
): Promise<number | undefined> {
  const { adminSecondFactorFrom } = deps.config;
  const { role, user_id, user_created_at } = session;
  if (adminSecondFactorFrom === undefined || !isPrivileged(role) || !hasNoSecondFactor(session)) return undefined;
  return Math.max(adminSecondFactorFrom, ((await roleHeldSince(deps, user_id)) ?? user_created_at) + graceSeconds);
}
