/** The mark of a copy of a store, which no server opens until it has been restored (docs/decisions/0031). */
export { findUnfinishedRestore, finishRestore, markCopy } from './store.ts';
