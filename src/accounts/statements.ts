/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export { countSameMailbox } from './email-keys.store.ts';
export { deleteReservations, mayTakeHandle, releaseHandle, reserveHandle, takeHandle } from './handles.store.ts';
export {
  deleteInvitations,
  deleteLinks,
  deleteLinksOfUser,
  deleteResetLinksOfUser,
  endLinksGivenBy,
  findOpenLink,
  hasGivenLinks,
  hasInvitedAdministrator,
  insertAccountLink,
  insertAddressLink,
  insertLink,
  insertSignUpLink,
  isInvitedBy,
  listInvitations,
  type OneTimeLink,
  spendInvitations,
} from './links.store.ts';
export { type UserCounts, type UserFilter, userFilters, userOrders } from './lists.store.ts';
export { deletePicture, findPicture, findPictureOf, findPictureType, insertPicture } from './pictures.store.ts';
export {
  countScimUsers,
  findProvisioned,
  findScimUser,
  findScimUsers,
  idsByExternalId,
  idsByUserName,
  insertProvisioned,
  listScimUsers,
  type Provisioned,
  type ScimUser,
  updateProvisioned,
} from './provisioned.store.ts';
export { namesOfUsers } from './search.store.ts';
export {
  deleteDeletedUser,
  deletedUsers,
  deleteUser,
  existingUsers,
  findUser,
  findUserByEmail,
  hasAdministrator,
  hasEmail,
  hasRole,
  insertUser,
  isActiveAdministratorNow,
  isAddressed,
  isDisabled,
  isEmailFree,
  isEmailTaken,
  isNotLastAdministrator,
  isReachableAt,
  listAdministrators,
  listAdministratorsAfter,
  listPrivilegedIds,
  listReviewersAfter,
  lockAdministrators,
  lockUser,
  markEmailVerified,
  noAdministrator,
  noteSecondFactor,
  type Profile,
  perStandardClaim,
  raiseGrantsEpochOfUser,
  recordSignIn,
  replaceEmail,
  type StandardClaim,
  setDisabled,
  setProfile,
  setRole,
  standardClaimNames,
  User,
  usersOfAddresses,
} from './store.ts';
export { userTerms } from './terms.store.ts';
