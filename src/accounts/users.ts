import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { findUser, findUserByEmail, type User } from './store.ts';

export { rewriteEmailKeys } from './email-keys.ts';
export { completeMissingTerms, countedUsersAtMost, countUsers, findUsers, type UserSearch } from './find-users.ts';

/** @throws {RequestError} `not_found`. */
export async function requireUser(deps: Pick<Deps, 'db'>, user_id: string): Promise<User> {
  return present(await findUser(deps.db, user_id));
}

/** @throws {RequestError} `not_found`. */
export const requireUserByIdOrEmail = async (deps: Pick<Deps, 'db'>, idOrEmail: string): Promise<User> =>
  idOrEmail.includes('@') ? present(await findUserByEmail(deps.db, idOrEmail)) : requireUser(deps, idOrEmail);

function present(user: User | undefined): User {
  if (!user) throw notFound();
  return user;
}
