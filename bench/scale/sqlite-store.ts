import { mostAtOnce, slowMs, smoothing } from '../../src/platform/db/sqlite-flushes.ts';
import { longestQueue, unitsPerCommit } from '../../src/platform/db/sqlite-group-commit.ts';
import { stalledMs } from '../../src/platform/db/sqlite-log.ts';
import { type Agenda, Queue } from './agenda.ts';
import type { Thread } from './machine.ts';
import type { Change, Store } from './store.ts';

type Flushing = { startedAt: number; whenDone: (() => void)[] };

/** The store in the process itself: its processor time is that of the event loop, and changes share flushes. */
export class SqliteStore implements Store {
  flushMs: number;
  readonly #agenda: Agenda;
  readonly #loop: Thread;
  readonly #queue = new Queue<Change>();
  readonly #running: Flushing[] = [];
  #meanMs = 0;
  #scheduled = false;

  constructor(agenda: Agenda, loop: Thread, flushMs: number) {
    this.#agenda = agenda;
    this.#loop = loop;
    this.flushMs = flushMs;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** What it may have seen has to be on disk. */
  read({ done }: Pick<Change, 'done'>): void {
    const newest = this.#running.at(-1);
    if (newest) newest.whenDone.push(() => done('answered'));
    else done('answered');
  }

  change(change: Change): void {
    const oldest = this.#running[0];
    if (this.#queue.length >= longestQueue || (oldest && this.#agenda.now - oldest.startedAt > stalledMs)) {
      change.done('refused');
      return;
    }
    this.#queue.push(change);
    this.#schedule();
  }

  /** On a slow disk several flushes run at once, at even distances. */
  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0) return;
    const newest = this.#running.at(-1);
    if (this.#running.length >= (this.#meanMs > slowMs ? mostAtOnce : 1)) return; // the end of one comes back here
    this.#scheduled = true;
    const nextAt = newest ? newest.startedAt + this.#meanMs / mostAtOnce : 0;
    const commit = () => this.#loop.run(0, () => this.#commit());
    if (nextAt > this.#agenda.now) this.#agenda.after(nextAt - this.#agenda.now, commit);
    else commit();
  }

  #commit(): void {
    this.#scheduled = false;
    const group = this.#queue.take(unitsPerCommit);
    const flushing: Flushing = { startedAt: this.#agenda.now, whenDone: [] };
    this.#running.push(flushing);
    for (const { prepare, done } of group) {
      // Tokens are signed during the flush.
      let left = 2;
      const ready = () => {
        left -= 1;
        if (left === 0) done('answered');
      };
      flushing.whenDone.push(ready);
      prepare(ready);
    }
    this.#agenda.after(this.flushMs, () => {
      this.#running.splice(this.#running.indexOf(flushing), 1);
      this.#meanMs += (this.#agenda.now - flushing.startedAt - this.#meanMs) / smoothing;
      this.#schedule();
      for (const done of flushing.whenDone) done();
    });
    this.#schedule();
  }
}
