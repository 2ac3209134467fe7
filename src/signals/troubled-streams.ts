import type { Db } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import { manyWaiting, streamsInTrouble } from './crowded.store.ts';
import { listStreams } from './store.ts';

export { manyWaiting };

/** Ids of streams about which an operator should know: nothing was taken for an hour, much waits, or it is paused. @param at Unix seconds. */
export async function troubledStreams(db: Db, at: number) {
  const streams = await listStreams(db);
  const found = streams.length === 0 ? [] : (await askAll(db, (part) => streamsInTrouble(part, at))).flat();
  const withTrouble = (which: 'is_failing' | 'is_filling') => [
    ...new Set(found.filter((one) => one[which]).map(({ stream_id }) => stream_id)),
  ];
  return {
    streams: streams.length,
    failing: withTrouble('is_failing'),
    filling: withTrouble('is_filling'),
    paused: streams.filter(({ status }) => status === 'paused').map(({ stream_id }) => stream_id),
  };
}
