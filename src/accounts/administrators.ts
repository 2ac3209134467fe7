import type { Caller } from '../audit/audit.ts';
import { type Claim, type ClaimKind, type ClaimRefused, evenIfOvertaken, type Ticket } from '../platform/claims.ts';
import { now } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { type Sql, sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal, unavailable } from '../platform/errors.ts';
import { endLinksGivenElsewhere } from './links.store.ts';
import { isPrivileged } from './roles.ts';
import {
  findRoleGrant,
  findUser,
  hasAdministratorElsewhere,
  hasRole,
  isNotLastAdministrator,
  lockAdministrators,
  type User,
} from './store.ts';

// What other rooms may require of administrators and change about roles.

/** After this time the other administrators have read the mail about a role that was given or taken. */
const newRoleSeconds = 86_400;

type RoleDeps = Pick<Deps, 'db' | 'clock'>;

/** @returns until when (Unix seconds) a user whom another administrator has promoted is new; otherwise undefined. */
export async function newAdministratorUntil(deps: RoleDeps, user_id: string): Promise<number | undefined> {
  const grant = await findRoleGrant(deps.db, user_id);
  if (grant?.role_granted_by?.startsWith('user:') !== true || !isNew(deps, grant.role_granted_at)) return undefined;
  return (grant.role_granted_at ?? 0) + newRoleSeconds;
}

/** Whether an actor is an administrator who can sign in, or the operator. */
export async function isAdministrator({ db }: Pick<Deps, 'db'>, actor: string): Promise<boolean> {
  if (actor === 'cli') return true;
  const user = await findUser(db, actor.replace('user:', ''));
  return user?.role === 'admin' && user.disabled_at === null;
}

/** When the user got the role; undefined for the role that the user began with. */
export const roleHeldSince = async (deps: Pick<Deps, 'db'>, user_id: string): Promise<number | undefined> =>
  (await findRoleGrant(deps.db, user_id))?.role_granted_at ?? undefined;

/** No administrator, nor one within the last day. The user of a deleted account may have been one. */
export async function isUnprivilegedUser(deps: RoleDeps, user_id: string): Promise<boolean> {
  const grant = await findRoleGrant(deps.db, user_id);
  return grant?.role === 'user' && !isNew(deps, grant.role_granted_at);
}

const isNew = (deps: RoleDeps, role_granted_at: number | null): boolean =>
  role_granted_at !== null && now(deps) - role_granted_at < newRoleSeconds;

/**
 * For a day, a new administrator takes nothing away from another one: not the role, the account, the factors, a session, the name
 * or the picture; nor do they export what is stored about them.
 * Otherwise one stolen account makes an accomplice, who removes every reader of the mail about it. An administrator made by
 * the operator is exempt. A service credential and a user of a lesser role never take anything from a user with another role than
 * `user`.
 * @returns why not, with the moment from which it is possible; undefined if it is allowed.
 */
async function administratorProblem(deps: RoleDeps, { actor }: Caller, user_id: string) {
  if (!/^(user|service):/.test(actor) || actor === `user:${user_id}`) return undefined;
  const role = (await findRoleGrant(deps.db, user_id))?.role ?? 'user';
  if (!isPrivileged(role)) return undefined;
  if (actor.startsWith('service:')) return { userMessage: { key: 'users.administrator_by_service' } } as const;
  const own = await findRoleGrant(deps.db, actor.slice('user:'.length));
  if (own?.role !== 'admin') return { userMessage: { key: 'users.privileged' } } as const;
  if (role !== 'admin') return undefined;
  const until = await newAdministratorUntil(deps, actor.slice('user:'.length));
  if (until === undefined) return undefined;
  return { userMessage: { key: 'users.new_administrator', values: { when: formatUtc(until) } }, until } as const;
}

/** For a page that offers only what would work. */
export const readAdministratorProblem = async (deps: RoleDeps, caller: Caller, user_id: string) =>
  (await administratorProblem(deps, caller, user_id))?.userMessage;

/**
 * To call before something is taken from an administrator.
 * @param user_id of the user who would lose it.
 * @throws {RequestError} `access_denied`, with `allowed_at` in Unix seconds if it will be allowed.
 */
export async function refuseAgainstAdministrator(deps: RoleDeps, caller: Caller, user_id: string): Promise<void> {
  const problem = await administratorProblem(deps, caller, user_id);
  if (!problem) return;
  const details = 'until' in problem ? { details: { allowed_at: problem.until } } : {};
  throw refusal('access_denied', problem.userMessage, details);
}

/** The same in every language. */
export const formatUtc = (at: number): string =>
  `${new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const claimOfAdministrators = (db: Db): Claim => {
  const key = 'administrators:';
  return { part: db.of(key), key };
};

/** See {@link openClaims}: the right to take an administrator away, which an act has for as long as it takes. */
export const administratorClaims: ClaimKind = { isKept: false, isHeld: async () => false };

/** Parts of a change that takes an administrator away. */
export type Guard = { lock: readonly Sql[]; require: { anotherAdministrator?: Sql }; claim: Ticket };

/**
 * Makes a change that takes an administrator away, or would if the user were one: another one who can sign in has to be left. It ends the
 * links that the user has given, those in the part of the user by itself. In one part
 * of the store a lock orders such changes; in several a claim does, so each finds in the others what those before it have left. The
 * command line is exempt: an operator disables a stolen account at once, and invites the next administrator.
 * @param user as read before.
 * @param givenUp what the change gives up besides.
 * @throws {RequestError} `temporarily_unavailable` if another such act takes long.
 */
export async function leavingAnother<Done extends { ok: boolean; failed?: unknown }>(
  { db, claims }: Pick<Deps, 'db' | 'claims'>,
  { actor }: Caller,
  { user_id, role }: Pick<User, 'user_id' | 'role'>,
  change: (guard: Guard) => Promise<Done>,
  givenUp: readonly Claim[] = [],
): Promise<Exclude<Done | ClaimRefused, { failed: 'claim' }>> {
  const inThisPart = {
    lock: [lockAdministrators()],
    require: { anotherAdministrator: isNotLastAdministrator(user_id) },
  };
  const isExempt = actor === 'cli';
  const isOrdered = db.parts.length > 1 && role === 'admin' && !isExempt;
  const taken = isOrdered ? [claimOfAdministrators(db)] : [];
  const inOwnPart = async (): Promise<Omit<Guard, 'claim'>> => {
    if (isExempt || (isOrdered && (await hasAdministratorElsewhere(db, user_id)))) return { lock: [], require: {} };
    if (isOrdered || db.parts.length === 1) return inThisPart;
    return { lock: [], require: { anotherAdministrator: sql`not ${hasRole(user_id, 'admin')}` } };
  };
  const attempt = () =>
    claims.holding(user_id, { taken, givenUp }, async (claim) => {
      const guard = await inOwnPart();
      const { anotherAdministrator } = guard.require;
      // What a refused one has given stays. In one part it ends with the change.
      const isRefused =
        db.parts.length > 1 && anotherAdministrator && !(await db.of(user_id).holds(anotherAdministrator));
      if (!isRefused) await endLinksGivenElsewhere(db, user_id);
      return change({ ...guard, claim });
    });
  const done = await evenIfOvertaken(attempt);
  if (!done.ok && 'failed' in done && done.failed === 'claim') throw unavailable();
  return done as Exclude<Done | ClaimRefused, { failed: 'claim' }>;
}

export const lastAdministrator = () =>
  refusal('invalid_state', { key: 'users.last_administrator' }, { details: { current_status: 'last_administrator' } });
