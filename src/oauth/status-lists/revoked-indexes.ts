import { emptyList, setIndex } from './status-indexes.ts';

/** What was revoked in the same hour is forgotten together. */
const hourOf = (at: number) => Math.floor(at / 3600);

export type RevokedIndexes = ReturnType<typeof openRevokedIndexes>;

/**
 * The indexes of revoked tokens, as far as they have been read, in bits by list and hour of the revocation: 128 KB for each list of which a token
 * was revoked in that hour, however many were. To read one twice changes nothing.
 */
export function openRevokedIndexes() {
  const hours = new Map<number, Map<string, Uint8Array>>();
  const changed = new Set<string>();
  const editions = new Map<string, number>();
  let edition = 0;

  return {
    /** @param refs `list.index`, with spaces between them. @param at when the tokens were revoked, in Unix seconds. */
    add(refs: string, at: number): void {
      const lists = hours.getOrInsertComputed(hourOf(at), () => new Map());
      for (const ref of refs.split(' ')) {
        const point = ref.indexOf('.');
        const list = ref.slice(0, point);
        const bits = lists.getOrInsertComputed(list, emptyList);
        if (setIndex(bits, Number(ref.slice(point + 1)))) changed.add(list);
      }
    },
    /** Of hours that ended before: their tokens have expired. */
    forget(before: number): void {
      for (const [hour, lists] of hours) {
        if (hour >= hourOf(before)) continue;
        hours.delete(hour);
        for (const list of lists.keys()) changed.add(list);
      }
    },
    /** What has changed since the last time is another edition from now on. */
    publish(): void {
      if (changed.size === 0) return;
      edition += 1;
      for (const list of changed) {
        if ([...hours.values()].some((lists) => lists.has(list))) editions.set(list, edition);
        else editions.delete(list);
      }
      changed.clear();
    },
    /** Another number after each change of the list that was published. */
    editionOf: (list: string): number => editions.get(list) ?? 0,
    bitsOf(list: string): Uint8Array {
      const all = emptyList();
      for (const lists of hours.values()) {
        const bits = lists.get(list);
        if (bits) for (let place = 0; place < bits.length; place += 1) all[place]! |= bits[place]!;
      }
      return all;
    },
  };
}
