/** What other rooms may put into their changes, or ask of our tables. */
export { exportedExclusions, exportedStreams, type Stream, streamStatuses } from './store.ts';
