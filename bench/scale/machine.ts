import { type Agenda, Queue } from './agenda.ts';

/** What a thread runs without a pause, in milliseconds. A longer job lets others go on in between, as a scheduler makes it. */
const sliceMs = 1;

type Job = { left: number; readonly done: () => void };

/** Processors that the threads of a machine share: of those that are ready, the one that has had least goes on. */
export class Machine {
  /** Milliseconds, of all processors together. */
  busyMs = 0;
  isLost = false;
  readonly cores: number;
  readonly #agenda: Agenda;
  readonly #ready: Thread[] = [];
  #free: number;
  /** What the thread that went on last had had. */
  #shareMs = 0;

  constructor(agenda: Agenda, cores: number) {
    this.#agenda = agenda;
    this.cores = cores;
    this.#free = cores;
  }

  /** Whether a processor sleeps. */
  get isResting(): boolean {
    return this.#free > 0;
  }

  /** @param hasSlept for which it is paid back no more than a slice. */
  isReady(thread: Thread, hasSlept: boolean): void {
    if (hasSlept && !thread.isFirst) thread.shareMs = Math.max(thread.shareMs, this.#shareMs - sliceMs);
    this.#ready.push(thread);
    this.#dispatch();
  }

  #dispatch(): void {
    while (this.#free > 0 && this.#ready.length > 0 && !this.isLost) {
      const thread = this.#next();
      this.#shareMs = Math.max(this.#shareMs, thread.shareMs);
      this.#free -= 1;
      const ms = Math.min(thread.left, sliceMs);
      this.#agenda.after(ms, () => {
        this.#free += 1;
        if (this.isLost) return;
        this.busyMs += ms;
        thread.hasRun(ms);
        this.#dispatch();
      });
    }
  }

  #next(): Thread {
    const ready = this.#ready;
    let least = 0;
    for (let at = 1; at < ready.length; at += 1) {
      if (ready[at]!.shareMs < ready[least]!.shareMs) least = at;
    }
    const thread = ready[least]!;
    const last = ready.pop()!;
    if (least < ready.length) ready[least] = last;
    return thread;
  }
}

/** Runs one job after the other. */
export class Thread {
  busyMs = 0;
  /** What it has had, or would have if it had not slept. */
  shareMs: number;
  readonly isFirst: boolean;
  readonly #machine: Machine;
  readonly #jobs = new Queue<Job>();
  #current: Job | undefined;

  /** @param isFirst it goes before all others. */
  constructor(machine: Machine, isFirst = false) {
    this.#machine = machine;
    this.isFirst = isFirst;
    this.shareMs = isFirst ? Number.NEGATIVE_INFINITY : 0;
  }

  /** Jobs that wait or run. */
  get waiting(): number {
    return this.#jobs.length + (this.#current ? 1 : 0);
  }

  /** Of the job that runs, in milliseconds. */
  get left(): number {
    return this.#current?.left ?? 0;
  }

  /**
   * @param wakeMs what the job takes more when the thread sleeps, and a processor with it: one that is at work goes on with what is in
   * its caches.
   */
  run(ms: number, done: () => void, wakeMs = 0): void {
    if (this.#current) this.#jobs.push({ left: ms, done });
    else {
      this.#current = { left: ms + (this.#machine.isResting ? wakeMs : 0), done };
      this.#machine.isReady(this, true);
    }
  }

  hasRun(ms: number): void {
    const job = this.#current!;
    this.busyMs += ms;
    this.shareMs += ms;
    job.left -= ms;
    if (job.left <= 0) {
      // What it causes may be for this thread, and comes behind what waits.
      this.#current = this.#jobs.shift();
      if (this.#current) this.#machine.isReady(this, false);
      job.done();
    } else this.#machine.isReady(this, false);
  }
}

/** Work of others, which has had so many processors of the machine: what it has, nobody takes from it. */
export function keepBusy(agenda: Agenda, machine: Machine, processors: number): void {
  const part = Math.min(1, processors / machine.cores);
  if (part === 0) return;
  for (let core = 0; core < machine.cores; core += 1) {
    const thread = new Thread(machine, true);
    const again = () => {
      thread.run(sliceMs, () => undefined);
      agenda.after(sliceMs / part, again);
    };
    agenda.after((sliceMs * core) / part / machine.cores, again);
  }
}
