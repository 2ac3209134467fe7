/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export { clientsOfUser } from './grants/clients-of-user.store.ts';
export { exportedConsents, listConsents as listConsentsOfUser } from './grants/consents.store.ts';
export {
  hasGrantToRevoke,
  type ListedGrant,
  maxNewestGrants,
  type RecentCode,
  recentCodesOfClient,
  type SignIn,
  signInsOfClient,
} from './grants/lists.store.ts';
export { type LostApp, lostAppsOf } from './grants/lost-apps.store.ts';
export { deleteGrantsOfUser, expireGrants, purgeEndedGrants } from './grants/store.ts';
export { lastSignInOf } from './grants/usage.store.ts';
export type { KeyRecord } from './signing-keys/store.ts';
