import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { type AddressDeps, findUserByEmail } from './addresses.store.ts';
import { findUser, type User } from './store.ts';

export { rewriteEmailKeys } from './email-keys.ts';
export { completeMissingTerms, countedUsersAtMost, countUsers, findUsers, type UserSearch } from './find-users.ts';

/** @throws {RequestError} `not_found`. */
export async function requireUser(deps: Pick<Deps, 'db'>, user_id: string): Promise<User> {
  return present(await findUser(deps.db, user_id));
}

/** @throws {RequestError} `not_found`. */
export const requireUserByIdOrEmail = async (deps: AddressDeps, idOrEmail: string): Promise<User> =>
  idOrEmail.includes('@') ? present(await findUserByEmail(deps, idOrEmail)) : requireUser(deps, idOrEmail);

function present(user: User | undefined): User {
  if (!user) throw notFound();
  return user;
}
