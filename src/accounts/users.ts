import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { findUser, findUserByEmail, type User } from './store.ts';

// What other rooms may read of users, require of them and change about them. The statements and conditions are for their
// own changes.
export { rewriteEmailKeys } from './email-keys.ts';
export { completeMissingTerms, countedUsersAtMost, countUsers, findUsers, type UserSearch } from './find-users.ts';
export { type UserCounts, type UserFilter, type UserOrder, userFilters, userOrders } from './lists.store.ts';
export { deletePicture, findPicture, findPictureOf, findPictureType, insertPicture } from './pictures.store.ts';
export { namesOfUsers } from './search.store.ts';
export {
  deleteDeletedUser,
  deletedUsers,
  deleteUser,
  findUser,
  findUserByEmail,
  hasEmail,
  insertUser,
  isAddressed,
  isDisabled,
  isEmailFree,
  isEmailTaken,
  isReachableAt,
  lockUser,
  markEmailVerified,
  noteSecondFactor,
  type Profile,
  perStandardClaim,
  type Role,
  raiseGrantsEpochOfUser,
  recordSignIn,
  replaceEmail,
  type StandardClaim,
  setDisabled,
  setProfile,
  standardClaimNames,
  User,
} from './store.ts';
export { userTerms } from './terms.store.ts';

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
