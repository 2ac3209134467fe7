import { perStandardClaim, type User } from '../../accounts/statements.ts';
import { findUsers, requireUser, type UserSearch } from '../../accounts/users.ts';
import { valuesByName } from '../../attributes/values.ts';
import { blockedAmong, lockStateOf } from '../../authentication/passwords/password-limits.ts';
import {
  activeSessionsOf,
  countBackupCodes,
  type Factors,
  factorsOf,
  findTotp,
  listIdentities,
  listPasskeys,
  passwordOf,
} from '../../authentication/statements.ts';
import { listOwnClients } from '../../clients/find-clients.ts';
import { listEntitlements } from '../../entitlements/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listGrants } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import type { LimitDeps, PlacementDeps } from '../../platform/deps.ts';
import { findRefusal } from '../../platform/mail/refusals.ts';

/** `isLocked`: so many passwords were wrong that none is accepted at present on a browser that the account does not know. */
export type ListedUser = User & { factors: Factors; isLocked: boolean };
export type UserPage = Awaited<ReturnType<typeof readUsers>>;

/** A page of users with what they sign in with. @throws {RequestError} as {@link findUsers}. */
export async function readUsers(deps: LimitDeps & PlacementDeps, search: UserSearch) {
  const { users, ...found } = await findUsers(deps, search);
  const [factorsFor, locked] = await Promise.all([
    factorsOf(
      deps.db,
      users.map(({ user_id }) => user_id),
    ),
    blockedAmong(deps, users),
  ]);
  const listed = users.map(
    (user): ListedUser => ({ ...user, factors: factorsFor(user.user_id), isLocked: locked.has(user.user_id) }),
  );
  return { ...found, users: listed };
}

export type UserOverview = Awaited<ReturnType<typeof userOverview>>;

export const maxCounted = 1000;

/** A user with their sign-in methods and access. @throws {RequestError} `not_found`. */
export async function userOverview(deps: LimitDeps & Pick<Deps, 'attributes'>, user_id: string) {
  const user = await requireUser(deps, user_id);
  const [factors, lock, sessions, { grants }, clients, entitlements, register, refusal] = await Promise.all([
    readFactors(deps, user_id),
    lockStateOf(deps, user),
    activeSessionsOf(deps.db, user_id, now(deps)),
    listGrants(deps, user_id, { limit: maxCounted }),
    listOwnClients(deps, user_id),
    listEntitlements(deps.db, user_id),
    deps.attributes.read(),
    findRefusal(deps, user.email),
  ]);
  const counts = {
    sessions: sessions.length,
    grants: grants.length,
    clients: clients.length,
    entitlements: entitlements.length,
  };
  const mail_refusal = refusal ?? null;
  return { user, attributes: valuesByName(register, user.attributes), factors, lock, counts, mail_refusal };
}

async function readFactors(deps: Pick<Deps, 'db'>, user_id: string) {
  const [password, totp, codes, passkeys, identities] = await Promise.all([
    passwordOf(deps.db, user_id),
    findTotp(deps.db, user_id),
    countBackupCodes(deps.db, user_id),
    listPasskeys(deps.db, user_id),
    listIdentities(deps.db, user_id),
  ]);
  return {
    password: password !== undefined,
    totp: totp?.confirmed_at == null ? ('none' as const) : ('active' as const),
    backup_codes: { total: codes.total, remaining: codes.remaining },
    passkeys: passkeys.length,
    identities: identities.map(({ provider, email, linked_at }) => ({ provider, email, linked_at })),
  };
}

/** A user as administrators see them. */
export const userRecord = (user: User) => ({
  user_id: user.user_id,
  email: user.email,
  email_verified: user.email_verified_at !== null,
  name: user.name,
  preferred_username: user.preferred_username,
  role: user.role,
  status: user.disabled_at === null ? ('enabled' as const) : ('disabled' as const),
  last_sign_in_at: user.last_sign_in_at,
  created_at: user.created_at,
});

export const listedRecord = ({ factors: { totp, ...factors }, isLocked, ...user }: ListedUser) => ({
  ...userRecord(user),
  locked: isLocked,
  factors: { ...factors, totp: totp ? ('active' as const) : ('none' as const) },
});

export const overviewRecord = ({ user, ...overview }: UserOverview) => ({
  ...userRecord(user),
  profile: perStandardClaim((claim) => user[claim]),
  ...overview,
});
