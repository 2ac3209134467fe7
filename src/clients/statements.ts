/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export { type FailureRow, failuresOf } from './failures.store.ts';
export { exportedHosts } from './from-outside/approved-hosts.store.ts';
export { exportedDocuments } from './from-outside/documents.store.ts';
export { exportedLogos } from './logos.store.ts';
export {
  clientsAfter,
  deleteDeletedClient,
  deletedClients,
  exportedClients,
  exportedSuspensions,
  hasApprovedClient,
  isDeletableAtOnce,
  noteSecretUse,
  orphanClientsOf,
  raiseGrantsEpochOfClient,
} from './store.ts';
export { hasClientTerms } from './terms.store.ts';
