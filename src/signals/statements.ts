/** What other rooms may put into their changes, or ask of our tables. */
export { forgetLeaving, rememberLeaving } from './clients.store.ts';
export { exportedExclusions, exportedStreams, type Stream } from './store.ts';
export { streamStatuses } from './stream-status.ts';
