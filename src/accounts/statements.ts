/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export {
  type AddressDeps,
  claimOfEmail,
  findUserByEmail,
  holdsEmail,
  partOfEmail,
  usersOfAddresses,
} from './addresses.store.ts';
export {
  listAdministrators,
  listAdministratorsAfter,
  listPrivilegedIds,
  listReviewersAfter,
} from './administrators.store.ts';
export { countSameMailbox } from './email-keys.store.ts';
export {
  deleteReservations,
  exportedHandles,
  handlesElsewhere,
  mayTakeHandle,
  partOfHandle,
  releaseHandle,
  reserveHandle,
  takeHandle,
} from './handles.store.ts';
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
export {
  deletePicture,
  exportedPictures,
  findPicture,
  findPictureOf,
  findPictureType,
  insertPicture,
} from './pictures.store.ts';
export {
  countScimUsers,
  exportedProvisioned,
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
  cleanAttributes,
  deleteDeletedUser,
  deletedUsers,
  deleteUser,
  existingUsers,
  exportedRoles,
  findUser,
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
  lockAdministrators,
  lockUser,
  markEmailVerified,
  noAdministrator,
  noteSecondFactor,
  type Profile,
  perStandardClaim,
  presentUsers,
  raiseGrantsEpochOfUser,
  recordSignIn,
  replaceAttributes,
  replaceEmail,
  type StandardClaim,
  setDisabled,
  setProfile,
  setRole,
  showPicture,
  standardClaimNames,
  User,
  usersWithAttribute,
} from './store.ts';
export { userTerms } from './terms.store.ts';
