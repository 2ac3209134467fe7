import { close, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../clock.ts';

/** Stands around each flush of the log; a test holds it, or makes it fail as a disk would. */
export type Flush = (sync: () => Promise<void>) => Promise<void>;

const syncData = (descriptor: number) =>
  new Promise<void>((resolve, reject) => fdatasync(descriptor, (error) => (error ? reject(error) : resolve())));
const closeFile = promisify(close);

/** A flush that takes longer, in milliseconds, has another one beside it. */
export const slowMs = 1;
/** Of the six threads of libuv's pool (`bin/signet`), passwords may take two, and one is left for RS256. */
export const mostAtOnce = 3;
/** Flushes over which their duration is smoothed. */
export const smoothing = 8;

type Flushing = { startedAt: number; done: Promise<void> };

/**
 * On a disk that is fast, changes that arrive during a flush share the next one. On one that takes milliseconds, as those of
 * cloud machines do, they would wait for most of a flush that does not concern them, and then for their own: there
 * others begin beside it, at even distances. They are confirmed in their order, so that what is confirmed is a prefix of the log.
 *
 * Each has a descriptor of its own: the system reports a failed write once to each, so none takes another's error. The name of a
 * new log is flushed by SQLite, with the log's header.
 * @param path of the log; undefined when there is none.
 */
export function createFlushes(path: string | undefined, around: Flush, monotonic: Clock) {
  const free: number[] = [];
  const running: Flushing[] = [];
  let next: Promise<void> | undefined;
  let meanMs = 0;

  async function sync(): Promise<void> {
    if (path === undefined) return;
    const descriptor = free.pop() ?? openSync(path, 'r+');
    try {
      await syncData(descriptor);
    } finally {
      free.push(descriptor);
    }
  }

  function start(): Promise<void> {
    const before = running.at(-1)?.done;
    const startedAt = monotonic();
    const own = around(sync).then(() => {
      meanMs += (monotonic() - startedAt - meanMs) / smoothing;
    });
    own.catch(() => undefined);
    const inOrder = before?.then(
      () => own,
      (error) => own.then(() => Promise.reject(error)),
    );
    const flushing: Flushing = {
      startedAt,
      done: (inOrder ?? own).finally(() => running.splice(running.indexOf(flushing), 1)),
    };
    flushing.done.catch(() => undefined); // it is for those who wait
    running.push(flushing);
    return flushing.done;
  }

  const hasRoom = () => running.length < (meanMs > slowMs ? mostAtOnce : 1);

  return {
    /** Resolves when all that is in the log by now is on disk. @throws the error of the system. */
    flush(): Promise<void> {
      if (hasRoom()) return start();
      // Not after a failure: the system reports it once, and the flush after it would pass.
      next ??= running[0]!.done.then(() => {
        next = undefined;
        return start();
      });
      next.catch(() => undefined);
      return next;
    },
    /** The newest flush, until it is done. */
    get unflushed(): Promise<void> | undefined {
      return next ?? running.at(-1)?.done;
    },
    /** Milliseconds until a change should begin a flush of its own; undefined when it should wait for the end of another. */
    get untilNext(): number | undefined {
      const newest = running.at(-1);
      if (!newest) return 0;
      return hasRoom() ? Math.max(0, newest.startedAt + meanMs / mostAtOnce - monotonic()) : undefined;
    },
    /** When the oldest began that is not done. */
    get since(): number {
      return running[0]?.startedAt ?? Number.POSITIVE_INFINITY;
    },
    async close(): Promise<void> {
      await Promise.allSettled([next, ...running.map(({ done }) => done)]);
      await Promise.all(free.splice(0).map((descriptor) => closeFile(descriptor))); // `map` gives more than one argument
    },
  };
}
