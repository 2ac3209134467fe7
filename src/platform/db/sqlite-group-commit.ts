import type { DatabaseSync } from 'node:sqlite';
import {
  type BatchResult,
  type Committed,
  isExpectedConflict,
  isRefused,
  OutcomeUnknown,
  type Step,
  StoreUnavailable,
} from './engine.ts';
import type { Statement } from './sql.ts';
import { commitError, isBusy, storeError } from './sqlite-errors.ts';
import type { WriteAheadLog } from './sqlite-log.ts';
import type { transactionControl } from './sqlite-transactions.ts';

/** Units in one commit. More would share the flush no better and would keep the event loop from all other requests. */
export const unitsPerCommit = 256;
/** A queue this long is seconds of work; a change behind it would wait past every client's timeout. */
export const longestQueue = 10_000;
/** While another process writes, its lock is polled every millisecond, for five seconds in all. */
const lockPollMs = 1;
const lockPolls = 5_000;

/** The steps of one caller: kept whole or not at all, and answered only after the commit. */
type Unit = {
  readonly steps: readonly Step[];
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
  /** What becomes of it, for its trace. */
  readonly enter?: (phase?: string) => void;
};

export type Phases = () => Unit['enter'];
/** The answer to the caller once the commit is on disk. */
type Outcome = Committed | { error: unknown };

/** The connection that writes, as long as it can be believed. */
export type WriteSession = {
  readonly connection: DatabaseSync;
  readonly execute: (statement: Statement) => BatchResult;
  readonly transaction: ReturnType<typeof transactionControl>;
  readonly log: WriteAheadLog;
  /** The file could not be opened for writing. */
  readonly onlyReads: boolean;
};

/**
 * Puts the writes that arrive during a flush under one transaction, so that they share the next one: on a good disk one
 * costs as much as twenty updates, on a poor one as thousands. The flush is done by the thread pool, while the event loop
 * goes on. A unit that fails fails alone. No request is answered before the flush: a reply must not confirm what a crash
 * can undo.
 *
 * When a flush fails the system may have dropped the pages and call them clean, so a later flush that succeeds proves
 * nothing of earlier writes. Then changes are refused until the file has been read anew and has taken a write.
 * @param checkAnew resolves when that is so; `session` is another one afterwards.
 */
export function createGroupCommit(
  session: () => WriteSession,
  checkAnew: () => Promise<void>,
  phases: Phases = () => undefined,
) {
  /** Set, to the reason, while no change is accepted: it is not known what of the last commit is in the file, or it cannot be written. */
  let fenced: string | undefined;
  const queue: Unit[] = [];
  let polls = 0;
  let scheduled = false;
  /** Until the next group begins a flush beside another. */
  let spacing: NodeJS.Timeout | undefined;
  let flushing = 0;
  let hasWritten = false;
  const whenDrained: (() => void)[] = [];

  /** Arranges for the next group, unless the end of a group's flush will. A timer may be late, so each change looks at the time. */
  function schedule(): void {
    if (queue.length === 0 || (scheduled && !spacing)) return;
    const { untilNext } = session().log.flushes;
    if (untilNext === undefined && flushing > 0) return;
    scheduled = true;
    if (untilNext) {
      spacing ??= setTimeout(commitGroup, untilNext);
    } else {
      clearTimeout(spacing);
      spacing = undefined;
      setImmediate(commitGroup);
    }
  }

  function commitGroup(): void {
    clearTimeout(spacing);
    spacing = undefined;
    scheduled = true; // while it waits for the lock, or for the log
    if (!lock()) return;
    scheduled = false;
    const group = queue.splice(0, unitsPerCommit);
    for (const unit of group) unit.enter?.('execute');
    const outcomes = commit(group);
    const { log } = session();
    // What changed nothing may depend on what the flush before has yet to confirm.
    const flushed = fenced === undefined ? (hasWritten ? log.flushes.flush() : log.flushes.unflushed) : undefined;
    if (!flushed) {
      settle(group, outcomes);
      proceed('later');
      return;
    }
    for (const unit of group) unit.enter?.('flush');
    const Failure = hasWritten ? OutcomeUnknown : StoreUnavailable;
    const unconfirmed = (cause: unknown): Outcome[] => {
      const error = new Failure('The disk could not confirm the change.', { cause });
      fence();
      return group.map(() => ({ error }));
    };
    flushing += 1;
    void flushed
      .then(() => outcomes, unconfirmed)
      .then((all) => {
        flushing -= 1;
        // First, so that the disk flushes the next group while the answers to this one are made.
        proceed(log.isUsed ? 'at once' : 'later');
        settle(group, all);
      });
    prepareAnswers(group, outcomes);
    log.grown(); // while the flush is under way
    schedule();
  }

  /** What they make of it is theirs alone until the flush has succeeded. */
  function prepareAnswers(group: readonly Unit[], outcomes: readonly Outcome[]): void {
    for (const [place, outcome] of outcomes.entries()) {
      if (!('results' in outcome)) continue;
      for (const [index, step] of group[place]!.steps.entries()) step.onCommitted?.(outcome.results[index]!);
    }
  }

  function settle(group: readonly Unit[], outcomes: readonly Outcome[]): void {
    for (const [index, outcome] of outcomes.entries()) {
      const unit = group[index]!;
      unit.enter?.();
      if ('error' in outcome) unit.reject(outcome.error);
      else unit.resolve(outcome);
    }
  }

  function fence(reason = checking, onEnd = () => {}): void {
    if (fenced !== undefined) return;
    fenced = reason;
    refuse(new StoreUnavailable(reason));
    checkAnew().then(
      () => {
        fenced = undefined;
        onEnd();
      },
      () => undefined, // it gives up when the store is closed
    );
  }

  function refuse(refusal: unknown): void {
    for (const unit of queue.splice(0)) {
      unit.enter?.();
      unit.reject(refusal);
    }
  }

  /** @returns true when this process may write now; else a later attempt is arranged or the queue is refused. */
  function lock(): boolean {
    try {
      const { log, transaction } = session();
      if (log.isFull) throw new StoreUnavailable(tooMuchLog);
      if (log.holding) {
        void log.holding.then(commitGroup);
        return false;
      }
      hasWritten = transaction.begin();
      polls = 0;
      return true;
    } catch (error) {
      polls += 1;
      if (isBusy(error) && polls < lockPolls) {
        setTimeout(commitGroup, lockPollMs);
        return false;
      }
      polls = 0;
      scheduled = false;
      refuse(storeError(error));
      proceed('later');
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
      hasWritten ||= results.some(({ changes }, index) => changes > 0 && steps[index]?.isRequirement !== true);
      return { results };
    } catch (thrown) {
      const error = storeError(thrown);
      if (!connection.isTransaction) throw error;
      if (!alone) transaction.undo();
      return isExpectedConflict(steps[results.length]!, error) ? { refusedAt: results.length } : { error };
    }
  }

  /** @param when `later`: other requests have their turn before the next group. */
  function proceed(when: 'at once' | 'later'): void {
    if (when === 'at once' && queue.length > 0 && (spacing || !scheduled) && session().log.flushes.untilNext === 0) {
      commitGroup();
    } else {
      schedule();
    }
    if (!scheduled && flushing === 0) for (const resolve of whenDrained.splice(0)) resolve();
  }

  return {
    /** Refuses changes until the file has been checked. Call it when a flush failed, or the file cannot be written. */
    fence,
    room: longestQueue,
    get isFenced(): boolean {
      return fenced !== undefined;
    },
    /** @throws {StoreUnavailable} {UniqueViolation} by rejecting. */
    enqueue: (steps: readonly Step[]) =>
      new Promise<Committed>((resolve, reject) => {
        if (fenced !== undefined) return reject(new StoreUnavailable(fenced));
        session().log.refuseWhileStalled();
        if (queue.length >= longestQueue) return reject(new StoreUnavailable('Too many changes are waiting.'));
        const enter = phases();
        enter?.('wait for the writer');
        queue.push({ steps, resolve, reject, enter });
        schedule();
      }),
    /** Resolves when everything enqueued so far is answered. */
    async drained(): Promise<void> {
      if (scheduled || flushing > 0) await new Promise<void>((resolve) => whenDrained.push(resolve));
    },
  };
}

const checking =
  'The last commit could not be confirmed. The database file is being checked before it accepts another.';

const tooMuchLog =
  'The write-ahead log of the database has become too large, because a long read or the disk prevents its checkpoint.';
