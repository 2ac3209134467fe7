/**
 * What other rooms may put into their changes, or ask of our tables: the statements of this room's stores that are its interface.
 * Whatever decides something is a use-case, in a file of its own.
 */
export {
  type AuditFilter,
  type AuditRow,
  type CountedEvent,
  countedEventsAfter,
  countUnsealed,
  hasEvent,
  type LogPlace,
  statesAtDeletion,
} from './store.ts';
