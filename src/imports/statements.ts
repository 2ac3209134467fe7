/** What other rooms may put into their changes, or ask of our tables. */
export { findImported, importKey, undoEverything } from './store.ts';
