import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { findUser, findUserByEmail } from './store.ts';
import type { User } from './user.ts';

/** For statements of other rooms that concern a user. */
export { findUser, lockUser, raiseGrantsEpochOfUser } from './store.ts';

/** @throws {RequestError} `not_found`. */
export async function requireUser(deps: Pick<Deps, 'db'>, user_id: string): Promise<User> {
  const user = await findUser(deps.db, user_id);
  if (!user) throw notFound();
  return user;
}

/** @throws {RequestError} `not_found`. */
export async function requireUserByIdOrEmail(deps: Pick<Deps, 'db'>, idOrEmail: string): Promise<User> {
  const user = idOrEmail.includes('@') ? await findUserByEmail(deps.db, idOrEmail) : await findUser(deps.db, idOrEmail);
  if (!user) throw notFound();
  return user;
}
