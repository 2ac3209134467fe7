import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { StoreUnavailable } from './engine.ts';
import { isBusy } from './sqlite-errors.ts';
import { createFlushes, type Flush } from './sqlite-flushes.ts';
import { appendOnly, openSqliteThread, type SqliteThread } from './sqlite-thread.ts';

export type LogOptions = {
  flush?: Flush;
  bounds?: LogBounds;
  /** The thread that copies; a test makes it fail as a disk would. */
  openThread?: typeof openSqliteThread;
  /** Milliseconds. Without it no flush takes too long. */
  monotonic?: Clock;
  log?: Logger;
  /**
   * Asked when the file cannot be opened for writing: whether the disk is the cause. Then it is opened for reading, and tried again
   * each second.
   */
  isDiskUnwritable?: () => boolean;
  /** Whether the files at the path are others than those that are open. */
  hasMoved?: () => boolean;
};

/** A flush that takes longer: what would wait for it, too, is refused instead. As long as the deadline of PostgreSQL. */
export const stalledMs = 5_000;

/** Of the write-ahead log, in pages of 4 KiB. */
export type LogBounds = {
  /** So many more, and they are copied into the database, while changes go on. */
  checkpoint: number;
  /** So many in all, and changes wait until the log could begin anew: 16 MiB. */
  restart: number;
  /** So many, because a reader or a failing disk prevents both for long, and changes are refused: 1 GiB. */
  refuse: number;
  /** Milliseconds without a checkpoint until the file is truncated and the thread ends; also between attempts at that. */
  idleMs: number;
  /** Milliseconds between two attempts while changes are refused. */
  retryMs: number;
};

const defaultBounds: LogBounds = { checkpoint: 1_000, restart: 4_096, refuse: 262_144, idleMs: 5_000, retryMs: 1_000 };

export type WriteAheadLog = ReturnType<typeof openLog>;

/**
 * The write-ahead log of a database, as the connection that writes leaves it: commits append to it and flush nothing, since
 * that would stop the event loop. Here it is flushed by the thread pool, through a descriptor of its own. SQLite's locks are
 * on the database and `-shm`, and would be lost if this process opened and closed one of those; on the log there are none.
 *
 * Where a file system has no shared memory, SQLite keeps no such log: there its commits flush, as they do by default.
 */
export function openLog(connection: DatabaseSync, options: LogOptions) {
  const { flush = (sync) => sync(), monotonic = () => 0 } = options;
  const path = connection.location() ?? '';
  const { journal_mode } = connection.prepare('pragma journal_mode').get() as { journal_mode: string };
  const isUsed = journal_mode === 'wal';
  if (isUsed) connection.exec(appendOnly);
  const checkpoints = createCheckpoints(path, options);
  const size = connection.prepare('pragma wal_checkpoint(noop)');
  const flushes = createFlushes(isUsed ? `${path}-wal` : undefined, flush, monotonic);

  return {
    /** Else each commit flushes by itself. */
    isUsed,
    flushes,
    /** @throws {StoreUnavailable} while a flush takes so long that nothing more should wait for it. */
    refuseWhileStalled(): void {
      if (monotonic() - flushes.since <= stalledMs) return;
      throw new StoreUnavailable('The disk has not confirmed the last changes for some time.');
    },
    /** Call it after each commit, when no transaction is open. */
    grown(): void {
      try {
        const { log: pages } = size.get() as { log: number };
        checkpoints.grown(pages);
      } catch {} // the change is made; the next one asks again
    },
    /** While the next change has to wait. */
    get holding(): Promise<unknown> | undefined {
      return checkpoints.holding;
    },
    /** While changes must be refused. */
    get isFull(): boolean {
      return checkpoints.isFull;
    },
    /** Call it when nothing is written any more, and before the connection is closed. */
    async close(): Promise<void> {
      await Promise.allSettled([checkpoints.end(), flushes.close()]);
    },
  };
}

/** Writes a page: the number in it is unused. */
export const writePage = 'pragma user_version = 0';

/**
 * Copies the log into the database, by a thread that is there while the log grows. The connection that writes the first page
 * after all was copied begins the log anew, and SQLite flushes its header then: so the thread writes one, not the event
 * loop. Another process that copies, too, or reads, may prevent it; that is no failure.
 */
function createCheckpoints(
  path: string,
  { bounds = defaultBounds, log: logger, hasMoved = () => false, openThread = openSqliteThread }: LogOptions,
) {
  let thread: SqliteThread | undefined;
  let working: Promise<void> | undefined;
  let checkpointAt = bounds.checkpoint;
  let restartAt = bounds.restart;
  let holding: Promise<unknown> | undefined;
  let isFull = false;
  let isEnding = false;
  let hasFailed = false;
  let idle: NodeJS.Timeout | undefined;
  /** Since anything was copied. */
  let isTruncated = true;
  let grows = 0;

  /** @returns whether the log was copied whole, so that it begins anew. */
  async function checkpoint(mode: 'passive' | 'restart' | 'truncate', followedBy = [writePage]): Promise<boolean> {
    if (isEnding || hasMoved()) return false; // the thread opens what is at the path
    try {
      thread ??= openThread(path);
      const [[outcome] = []] = await thread.run(`pragma wal_checkpoint(${mode})`, ...followedBy);
      hasFailed = false;
      return outcome?.busy === 0 && outcome.log === outcome.checkpointed;
    } catch (error) {
      if (isEnding || isBusy(error)) return false;
      await endThread();
      if (!hasFailed) logger?.error({ err: error }, 'copying the log into the database failed; it is tried again');
      hasFailed = true;
      return false;
    }
  }

  async function copy(pages: number): Promise<void> {
    const isWhole = await checkpoint('passive');
    checkpointAt = bounds.checkpoint + (isWhole ? 0 : pages);
  }

  async function restart(pages: number): Promise<void> {
    const attempt = Promise.allSettled([working]).then(() => checkpoint('restart'));
    holding = attempt;
    let isWhole = await attempt;
    holding = undefined;
    while (!isWhole && pages >= bounds.refuse && !isEnding) {
      isFull = true;
      await sleep(bounds.retryMs, undefined, { ref: false });
      isWhole = await checkpoint('restart');
    }
    isFull = false;
    checkpointAt = bounds.checkpoint + (isWhole ? 0 : pages);
    restartAt = bounds.restart + (isWhole ? 0 : pages);
  }

  /**
   * Again and again until it succeeds. Truncating keeps changes waiting for readers, so it is tried only when no reader needs the
   * log. The thread stays: another one each time would cost more than the memory of this one while someone reads.
   */
  async function rest(): Promise<void> {
    if (!(await checkpoint('passive', []))) return; // a page each time would add up
    checkpointAt = bounds.checkpoint;
    restartAt = bounds.restart;
    const before = grows;
    if (!(await checkpoint('truncate'))) return;
    if (grows === before) await endThread();
    isTruncated = grows === before; // else what was written meanwhile would stay
  }

  async function endThread(): Promise<void> {
    await thread?.end();
    thread = undefined;
  }

  function work(task: Promise<void>): void {
    clearTimeout(idle);
    isTruncated = false;
    const current = task.finally(() => {
      if (working !== current) return;
      working = undefined;
      if (!isTruncated && !isEnding) idle = setTimeout(() => work(rest()), bounds.idleMs).unref();
    });
    working = current;
  }

  return {
    grown(pages: number): void {
      grows += 1;
      if (holding || isFull) return;
      if (pages >= restartAt) work(restart(pages));
      else if (pages >= checkpointAt && !working) work(copy(pages));
    },
    get holding(): Promise<unknown> | undefined {
      return holding;
    },
    get isFull(): boolean {
      return isFull;
    },
    async end(): Promise<void> {
      isEnding = true;
      clearTimeout(idle);
      await endThread();
    },
  };
}
