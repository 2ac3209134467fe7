import { longestWaitMs, maxConcurrent, mostWaiting } from '../../src/authentication/credentials/password-hash.ts';
import { type Agenda, Queue } from './agenda.ts';
import type { Costs, Kind } from './costs.ts';
import { type Machine, Thread } from './machine.ts';
import type { Outcome, Store } from './store.ts';

type Step = 'read' | 'hash' | 'change';

/** What a request waits for, in order. Before, between and behind, it has its turn on the event loop. */
export const steps: Readonly<Record<Kind, readonly Step[]>> = {
  sign_in: ['read', 'hash', 'change'],
  authorize: ['read', 'change'],
  code_exchange: ['change'],
  refresh: ['change'],
  userinfo: ['read'],
  introspect: ['read'],
};

type Ended = (outcome: Outcome) => void;

/** One process of Signet. */
export class Server {
  readonly loop: Thread;
  readonly hashes: HashQueue;
  readonly store: Store;
  readonly #signer: Thread;
  readonly #costs: Costs;
  readonly #open = new Set<{ ended: Ended }>();
  isLost = false;

  constructor(agenda: Agenda, machine: Machine, costs: Costs, storeFor: (loop: Thread) => Store) {
    this.#costs = costs;
    this.loop = new Thread(machine);
    this.#signer = new Thread(machine);
    this.hashes = new HashQueue(agenda, machine);
    this.store = storeFor(this.loop);
  }

  handle(kind: Kind, ended: Ended): void {
    if (this.isLost) {
      ended('lost');
      return;
    }
    const request = { ended };
    this.#open.add(request);
    const end: Ended = (outcome) => {
      if (this.#open.delete(request)) ended(outcome);
    };
    const { loop, loopAlone } = this.#costs[kind];
    const turns = steps[kind].length + 1;
    const wakeMs = (loopAlone - loop) / turns;
    const goOn = (at: number) =>
      this.loop.run(
        loop / turns,
        () => {
          const step = steps[kind][at];
          if (step === undefined) return end('answered');
          this.#take(step, kind, (outcome) => (outcome === 'answered' ? goOn(at + 1) : end(outcome)));
        },
        wakeMs,
      );
    goOn(0);
  }

  #take(step: Step, kind: Kind, done: Ended): void {
    const { thread } = this.#costs[kind];
    const isPassword = kind === 'sign_in';
    if (step === 'hash') this.hashes.run(thread, done);
    else if (step === 'read') {
      // Where nothing is signed, other threads collect garbage, and nobody waits for it.
      if (!steps[kind].includes('change')) this.#signer.run(thread, () => undefined);
      this.store.read({ kind, done });
    } else {
      const prepare = (ready: () => void) => (isPassword ? ready() : this.#signer.run(thread, ready));
      this.store.change({ kind, prepare, done });
    }
  }

  /** With its machine, and all that it was about to answer. */
  lose(): void {
    this.isLost = true;
    for (const { ended } of this.#open) ended('lost');
    this.#open.clear();
  }
}

/** Passwords in browsers that are known: a few at once, the others in turn, and not for longer than a user waits. */
class HashQueue {
  readonly #agenda: Agenda;
  readonly #threads: Thread[];
  readonly #queue = new Queue<{ since: number; ms: number; done: Ended }>();

  constructor(agenda: Agenda, machine: Machine) {
    this.#agenda = agenda;
    this.#threads = Array.from({ length: maxConcurrent }, () => new Thread(machine));
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get busyMs(): number {
    return this.#threads.reduce((sum, { busyMs }) => sum + busyMs, 0);
  }

  run(ms: number, done: Ended): void {
    const free = this.#threads.find(({ waiting }) => waiting === 0);
    if (free) this.#hash(free, ms, done);
    else if (this.#queue.length >= mostWaiting) done('refused');
    else this.#queue.push({ since: this.#agenda.now, ms, done });
  }

  #hash(thread: Thread, ms: number, done: Ended): void {
    thread.run(ms, () => {
      done('answered');
      this.#startNext(thread);
    });
  }

  #startNext(thread: Thread): void {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      if (this.#agenda.now - next.since <= longestWaitMs) {
        this.#hash(thread, next.ms, next.done);
        return;
      }
      next.done('refused');
    }
  }
}
