import type { Agenda } from './agenda.ts';

/** A disk that flushes, and what waits for it. */
export class Log {
  flushMs: number;
  readonly #agenda: Agenda;
  /** On the way to a synchronous standby and back; undefined without one. */
  readonly #standbyMs: number | undefined;
  #waiting: (() => void)[] = [];
  #isFlushing = false;
  /** Flushes so far. */
  flushes = 0;

  constructor(agenda: Agenda, flushMs: number, standbyMs?: number) {
    this.#agenda = agenda;
    this.flushMs = flushMs;
    this.#standbyMs = standbyMs;
  }

  /** All that is written during a flush shares the next one. @param done it is on this disk, and on that of the standby. */
  commit(done: () => void): void {
    this.#waiting.push(done);
    if (!this.#isFlushing) this.#flush();
  }

  #flush(): void {
    const group = this.#waiting;
    this.#waiting = [];
    this.#isFlushing = true;
    this.flushes += 1;
    this.#agenda.after(this.flushMs, () => {
      this.#isFlushing = false;
      if (this.#waiting.length > 0) this.#flush();
      // The standby gets the log while the primary flushes it, and flushes it on as good a disk.
      if (this.#standbyMs === undefined) for (const done of group) done();
      else
        this.#agenda.after(this.#standbyMs, () => {
          for (const done of group) done();
        });
    });
  }
}
