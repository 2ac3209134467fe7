/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export { type AlertRow, alertAnswers, alertsOfClient, alertsOfUser, findAlert } from './alerts/store.ts';
export { countFactors, type Factors, factorsOf, hasSecondFactor } from './credentials/factors.store.ts';
export {
  claimOfIdentity,
  deleteIdentitiesOfUser,
  identityClaims,
  insertIdentity,
  listIdentities,
} from './credentials/identities.store.ts';
export {
  claimOfPasskey,
  deletePasskeysOfUser,
  insertPasskey,
  listPasskeys,
  type Passkey,
  passkeyClaims,
} from './credentials/passkeys.store.ts';
export { passwordOf, setPassword } from './credentials/passwords.store.ts';
export { exportedProviders, mostProviders } from './credentials/providers.store.ts';
export {
  countBackupCodes,
  deleteBackupCodes,
  deletePendingTotp,
  deleteTotp,
  exportedBackupCodes,
  findTotp,
  insertActiveTotp,
  someBackupCodes,
} from './credentials/two-factor.store.ts';
export type { FactorRecovery } from './sessions/factor-recoveries.store.ts';
export { endRecovery, endSecondSteps } from './sessions/second-steps.ts';
export {
  activeSessionsOf,
  agentsOfSessions,
  endSessions,
  endSessionsOfUser,
  hasActiveAccess,
  hasEveryFactor,
  isActiveSession,
  isCurrentSession,
  type ListedSession,
  type Session,
} from './sessions/store.ts';
export type { TrustedBrowser } from './sessions/trusted-browsers.store.ts';
