import type { Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import type { UserId } from '../platform/ids.ts';
import { findRoleGrant, hasAdministrator, isNotLastAdministrator, lockAdministrators } from './store.ts';

// What other rooms may require of administrators and change about roles.
export {
  hasAdministrator,
  hasRole,
  isNotLastAdministrator,
  listAdministrators,
  lockAdministrators,
  noAdministrator,
  setRole,
} from './store.ts';

/** So long after a role was given or taken, the other administrators have had time to read their mail about it. */
const newRoleSeconds = 86_400;

type RoleDeps = Pick<Deps, 'db' | 'clock'>;

/** @returns until when (Unix seconds) somebody counts as an administrator whom another one has just made; else undefined. */
export async function newAdministratorUntil(deps: RoleDeps, user_id: string): Promise<number | undefined> {
  const grant = await findRoleGrant(deps.db, user_id);
  if (grant?.role_granted_by?.startsWith('user:') !== true || !isNew(deps, grant.role_granted_at)) return undefined;
  return (grant.role_granted_at ?? 0) + newRoleSeconds;
}

/** No administrator, nor one within the last day. Whoever has deleted their account may have been one. */
export async function isUnprivilegedUser(deps: RoleDeps, user_id: string): Promise<boolean> {
  const grant = await findRoleGrant(deps.db, user_id);
  return grant?.role === 'user' && !isNew(deps, grant.role_granted_at);
}

const isNew = (deps: RoleDeps, role_granted_at: number | null): boolean =>
  role_granted_at !== null && now(deps) - role_granted_at < newRoleSeconds;

/**
 * Whoever another administrator has made one takes nothing away from a colleague for a day: not the role, not the
 * account, not the factors, not a session. Else one stolen account makes an accomplice, and the accomplice removes
 * everybody who would read the mail about it. Whoever has the role from the operator is not held up.
 * @returns why not, with the moment from which it is possible; undefined if they may.
 */
async function administratorProblem(
  deps: RoleDeps,
  { actor }: Caller,
  user_id: string,
): Promise<Restriction | undefined> {
  if (!actor.startsWith('user:') || actor === `user:${user_id}`) return undefined;
  if ((await findRoleGrant(deps.db, user_id))?.role !== 'admin') return undefined;
  const until = await newAdministratorUntil(deps, actor.slice('user:'.length));
  if (until === undefined) return undefined;
  return { userMessage: { key: 'users.new_administrator', values: { when: formatUtc(until) } }, until };
}
type Restriction = { userMessage: MessageDescriptor; until: number };

/** For a page that offers only what would work. */
export const readAdministratorProblem = async (deps: RoleDeps, caller: Caller, user_id: string) =>
  (await administratorProblem(deps, caller, user_id))?.userMessage;

/**
 * Before whatever takes something from another administrator.
 * @param user_id whom it would be done to.
 * @throws {RequestError} `access_denied`, with `allowed_at` in Unix seconds.
 */
export async function refuseAgainstAdministrator(deps: RoleDeps, caller: Caller, user_id: string): Promise<void> {
  const restriction = await administratorProblem(deps, caller, user_id);
  if (restriction !== undefined)
    throw refusal('access_denied', restriction.userMessage, { details: { allowed_at: restriction.until } });
}

/** One spelling in every language, for a moment that somebody waits for. */
export const formatUtc = (at: number): string =>
  `${new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/**
 * Lock and requirement of a change that takes an administrator away: another one who can sign in has to be left. The
 * command line is exempt: an operator disables a stolen account at once, and invites the next administrator.
 */
export const requireAnotherAdministrator = (
  { actor }: Caller,
  user_id: UserId,
): { lock: readonly Sql[]; require: { anotherAdministrator?: Sql } } =>
  actor === 'cli'
    ? { lock: [], require: {} }
    : { lock: [lockAdministrators()], require: { anotherAdministrator: isNotLastAdministrator(user_id) } };

export const lastAdministrator = () =>
  refusal('invalid_state', { key: 'users.last_administrator' }, { details: { current_status: 'last_administrator' } });

/** Whether any account is an administrator's. */
export const hasAnyAdministrator = (deps: Pick<Deps, 'db'>): Promise<boolean> => hasAdministrator(deps.db);
