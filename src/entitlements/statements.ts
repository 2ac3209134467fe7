/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export {
  allCredentials,
  exportedCredentials,
  mayNow,
  noteServiceSecretUse,
  readCredential,
} from './service-credentials/store.ts';
export {
  type EntitlementVersion,
  exportedEntitlements,
  exportedVersions,
  type HeldEntitlement,
  listEntitlements,
  type StoredEntitlement,
} from './store.ts';
