import type { DatabaseSync } from 'node:sqlite';
import {
  type BatchResult,
  type Committed,
  ForeignKeyViolation,
  isExpectedConflict,
  isRefused,
  OutcomeUnknown,
  type Step,
  StoreUnavailable,
  UniqueViolation,
} from './engine.ts';
import type { Statement } from './sql.ts';

/** How long a read, or a start, waits inside SQLite for another process. Node's own default is 0. */
export const busyTimeoutMs = 5_000;

/** Units in one commit. More would share the fsync no better and would keep the event loop from all other requests. */
const unitsPerCommit = 256;
/** A queue this long is seconds of work; a change behind it would wait past every client's timeout. */
const longestQueue = 10_000;
/** While another process writes, its lock is polled every millisecond, for five seconds in all. */
const lockPollMs = 1;
const lockPolls = 5_000;

/** The steps of one caller: kept whole or not at all, and answered only after the commit. */
type Unit = {
  readonly steps: readonly Step[];
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
};
/** The answer to the caller once the commit is on disk. */
type Outcome = Committed | { error: unknown };

/** The connection that writes, as long as it can be believed. */
export type WriteSession = {
  readonly connection: DatabaseSync;
  readonly execute: (statement: Statement) => BatchResult;
  readonly transaction: ReturnType<typeof transactionControl>;
};

/**
 * Puts the writes of one event-loop turn under one transaction, so that they share its fsync: on a good disk one
 * costs as much as twenty updates, on a poor one as thousands, and requests that arrived together wait together.
 * A unit that fails fails alone. No request is answered before the commit: a reply must not confirm what a crash can undo.
 *
 * When a flush fails the system may have dropped the pages and call them clean, so a later flush that succeeds proves
 * nothing of earlier writes. Then changes are refused until the file has been read anew and has taken a write.
 * @param checkAnew resolves when that is so; `session` is another one afterwards.
 */
export function createGroupCommit(session: () => WriteSession, checkAnew: () => Promise<void>) {
  /** Set while it is not known what of the last commit is in the file. */
  let fenced = false;
  const queue: Unit[] = [];
  let polls = 0;
  let scheduled = false;
  const whenDrained: (() => void)[] = [];

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    if (!lock()) return;
    const group = queue.splice(0, unitsPerCommit);
    for (const [index, outcome] of commit(group).entries()) {
      const unit = group[index]!;
      if ('error' in outcome) unit.reject(outcome.error);
      else unit.resolve(outcome);
    }
    proceed();
  }

  function fence(): void {
    fenced = true;
    refuse(new StoreUnavailable(checking));
    checkAnew().then(
      () => {
        fenced = false;
      },
      () => undefined, // it gives up when the store is closed
    );
  }

  function refuse(refusal: unknown): void {
    for (const unit of queue.splice(0)) unit.reject(refusal);
  }

  /** @returns true when this process may write now; else a later flush is arranged or the queue is refused. */
  function lock(): boolean {
    try {
      session().transaction.begin();
      polls = 0;
      return true;
    } catch (error) {
      polls += 1;
      if (isBusy(error) && polls < lockPolls) {
        setTimeout(flush, lockPollMs);
        return false;
      }
      polls = 0;
      refuse(storeError(error));
      proceed();
      return false;
    }
  }

  /** @returns an outcome for each unit; the same failure for all when the transaction was not kept. */
  function commit(group: readonly Unit[]): Outcome[] {
    const { connection, transaction } = session();
    try {
      const outcomes = group.map(attempt);
      try {
        transaction.commit();
      } catch (error) {
        throw commitError(error);
      }
      return outcomes;
    } catch (error) {
      if (connection.isTransaction) transaction.rollback();
      if (error instanceof OutcomeUnknown) fence();
      const lost = error instanceof StoreUnavailable ? error : new StoreUnavailable('Not kept.', { cause: error });
      return group.map(() => ({ error: lost }));
    }
  }

  /** @throws when the failure ended the whole transaction, which SQLite does by itself when the disk is full. */
  function attempt(unit: Unit): Outcome {
    const { connection, execute, transaction } = session();
    const { steps } = unit;
    // One statement undoes itself when it fails; only several need a savepoint to go back to.
    const alone = steps.length === 1;
    const results: BatchResult[] = [];
    try {
      if (!alone) transaction.savepoint();
      for (const step of steps) {
        const result = execute(step);
        if (isRefused(step, result)) {
          if (!alone) transaction.undo();
          return { refusedAt: results.length };
        }
        results.push(result);
      }
      if (!alone) transaction.release();
      return { results };
    } catch (thrown) {
      const error = storeError(thrown);
      if (!connection.isTransaction) throw error;
      if (!alone) transaction.undo();
      return isExpectedConflict(steps[results.length]!, error) ? { refusedAt: results.length } : { error };
    }
  }

  function proceed(): void {
    scheduled = false;
    if (queue.length > 0) {
      schedule();
      return;
    }
    for (const resolve of whenDrained.splice(0)) resolve();
  }

  return {
    /** @throws {StoreUnavailable} {UniqueViolation} by rejecting. */
    enqueue: (steps: readonly Step[]) =>
      new Promise<Committed>((resolve, reject) => {
        if (fenced) return reject(new StoreUnavailable(checking));
        if (queue.length >= longestQueue) return reject(new StoreUnavailable('Too many changes are waiting.'));
        queue.push({ steps, resolve, reject });
        schedule();
      }),
    /** Resolves when everything enqueued so far is answered. */
    async drained(): Promise<void> {
      if (scheduled) await new Promise<void>((resolve) => whenDrained.push(resolve));
    },
  };
}

const checking =
  'The last commit could not be confirmed. The database file is being checked before it accepts another.';

/** @param flush stands around each `commit` of a change; a test makes it fail as a disk would. */
export function transactionControl(connection: DatabaseSync, flush: (commit: () => void) => void) {
  const impatient = connection.prepare('pragma busy_timeout = 0');
  const patient = connection.prepare(`pragma busy_timeout = ${busyTimeoutMs}`);
  const begin = connection.prepare('begin immediate');
  const commit = connection.prepare('commit');
  const rollback = connection.prepare('rollback');
  const savepoint = connection.prepare('savepoint unit');
  const release = connection.prepare('release unit');
  const rollbackTo = connection.prepare('rollback to unit');
  const beginReading = connection.prepare('begin');
  let isReading = false;
  let hasRequests = false;

  function endReading(): void {
    if (!isReading) return;
    isReading = false; // first: should the commit fail, the next read fails, too, instead of seeing this state for ever
    if (connection.isOpen) commit.run();
  }

  return {
    /**
     * Call it before a read. The reads of one event-loop turn share a transaction, up to the next change: to take its locks
     * and to release them costs as much as to find a row by its key.
     */
    beginReading() {
      if (isReading) return;
      beginReading.run();
      isReading = true;
      setImmediate(endReading);
    },
    /**
     * Call it when a request arrives. A turn's requests come together, in its poll phase. A read before them, in a timer or
     * an immediate, may have begun before another process confirmed a change that the request's sender knows of.
     */
    requestArrived() {
      if (hasRequests) return;
      hasRequests = true;
      setImmediate(() => (hasRequests = false));
      endReading();
    },
    /** Fails at once when another process writes: SQLite would wait by sleeping, and the event loop with it. */
    begin() {
      endReading();
      impatient.get();
      try {
        begin.run();
      } finally {
        patient.get();
      }
    },
    commit: () => flush(() => commit.run()),
    rollback: () => rollback.run(),
    savepoint: () => savepoint.run(),
    release: () => release.run(),
    undo() {
      rollbackTo.run();
      release.run();
    },
  };
}

/** Primary result codes (https://sqlite.org/rescode.html) that say "not now" or "this file is broken", not "wrong SQL". */
// PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOLFS, NOTADB
const unanswerable = new Set([3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26]);

/** Extended codes of a refused duplicate: PRIMARYKEY, UNIQUE, ROWID. */
const duplicate = new Set([1555, 2067, 2579]);
/** FOREIGNKEY. */
const orphan = 787;

/**
 * What the engine threw, in the words of `Db`: {@link StoreUnavailable}, {@link UniqueViolation} or
 * {@link ForeignKeyViolation}. Any other error, such as one of syntax, is ours to fix and comes back as it is.
 */
export function storeError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (duplicate.has(code)) return new UniqueViolation('A unique index refused the change.', { cause: error });
  if (code === orphan) return new ForeignKeyViolation('A foreign key refused the change.', { cause: error });
  if (unanswerable.has(code & 0xff)) return new StoreUnavailable('SQLite did not respond.', { cause: error });
  return error;
}

/**
 * What a `commit` threw. A deferred constraint leaves the transaction open, and a frame that could not be written leaves
 * the log without its commit mark, which is in the last one; either way nothing was kept. After any other failure, such
 * as that of the flush, the mark may be in the file, and a recovery would find it.
 */
export function commitError(error: unknown): StoreUnavailable {
  const code = resultCode(error);
  const isSettled = code !== undefined && (notWritten.has(code) || (code & 0xff) === 19 || isBusy(error));
  if (isSettled) return new StoreUnavailable('SQLite did not save the change.', { cause: error });
  return new OutcomeUnknown('SQLite could not confirm that the change is on disk.', { cause: error });
}
/** FULL, IOERR_WRITE. */
const notWritten = new Set([13, 778]);

/** Another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && ((code & 0xff) === 5 || (code & 0xff) === 6);
}

/** The extended result code, which `node:sqlite` puts in `errcode`. */
function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;
}
