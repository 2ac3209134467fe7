import { listUsers, requireUser, searchUsers, type User } from '../../accounts/users.ts';
import {
  countBackupCodes,
  findTotp,
  listIdentities,
  listPasskeys,
  passwordOf,
} from '../../authentication/credentials/sign-in-methods.ts';
import { activeSessionsOf } from '../../authentication/sessions/sessions.ts';
import { listOwnClients } from '../../clients/find-clients.ts';
import { listEntitlements } from '../../entitlements/read-history.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listGrants } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import { cutPage, decodeCursor } from '../../platform/db/slices.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { type LockState, passwordLimits } from '../../platform/limits/failure-limits.ts';

export type UserPage = { users: User[] /** For `after`; undefined on the last page. */; next: string | undefined };

/**
 * Finds people by the beginning of their e-mail address, a part of their name, or their id. Newest first.
 * @param search.after what the page before gave as `next`.
 * @param search.limit 1 to 500.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function findUsers(
  deps: Pick<Deps, 'db'>,
  { query = '', after, limit = 50 }: { query?: string; after?: string; limit?: number },
): Promise<UserPage> {
  const place = decodeCursor('after', after);
  const found = await searchUsers(deps.db, {
    query: query.trim().slice(0, 254),
    after: place && { created_at: place.at, user_id: place.id },
    limit: limit + 1,
  });
  const { rows: users, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.user_id }));
  return { users, next };
}

/** What administrators may know of how somebody signs in. Times are Unix seconds. */
export type FactorState = {
  password: boolean;
  totp: 'none' | 'active';
  backup_codes: { total: number; remaining: number };
  passkeys: number;
  identities: { provider: string; email: string | null; linked_at: number }[];
};

export type UserOverview = {
  user: User;
  factors: FactorState;
  /** Whether wrong passwords have closed the door. */
  lock: LockState;
  counts: { sessions: number; grants: number; clients: number; entitlements: number };
};

const maxCounted = 1000;

/** One person with what hangs on them. @throws {RequestError} `not_found`. */
export async function userOverview(deps: LimitDeps, user_id: string): Promise<UserOverview> {
  const user = await requireUser(deps, user_id);
  const at = now(deps);
  const [factors, lock, sessions, grants, clients, entitlements] = await Promise.all([
    factorState(deps, user_id),
    passwordLimits(deps).lockStateOf(user.email),
    activeSessionsOf(deps.db, user_id, at),
    listGrants(deps, user_id, maxCounted),
    listOwnClients(deps, user_id),
    listEntitlements(deps.db, user_id),
  ]);
  return {
    user,
    factors,
    lock,
    counts: {
      sessions: sessions.length,
      grants: grants.length,
      clients: clients.length,
      entitlements: entitlements.length,
    },
  };
}

async function factorState(deps: Pick<Deps, 'db'>, user_id: string): Promise<FactorState> {
  const [password, totp, codes, passkeys, identities] = await Promise.all([
    passwordOf(deps.db, user_id),
    findTotp(deps.db, user_id),
    countBackupCodes(deps.db, user_id),
    listPasskeys(deps.db, user_id),
    listIdentities(deps.db, user_id),
  ]);
  return {
    password: password !== undefined,
    totp: totp?.confirmed_at == null ? 'none' : 'active',
    backup_codes: { total: codes.total, remaining: codes.remaining },
    passkeys: passkeys.length,
    identities: identities.map(({ provider, email, linked_at }) => ({ provider, email, linked_at })),
  };
}

/** A person as those see them who run the service. */
export const userRecord = (user: User) => ({
  user_id: user.user_id,
  email: user.email,
  email_verified: user.email_verified_at !== null,
  name: user.name,
  role: user.role,
  status: user.disabled_at === null ? ('enabled' as const) : ('disabled' as const),
  created_at: user.created_at,
});

export const overviewRecord = ({ user, ...overview }: UserOverview) => ({ ...userRecord(user), ...overview });

/** Oldest first. */
export const allUsers = (deps: Pick<Deps, 'db'>): Promise<User[]> => listUsers(deps.db);
