import { defaultDeadlines, laneSizes } from '../../src/platform/db/postgres.ts';
import {
  fewestUnits,
  groupsAtOnce,
  longestGatherMs,
  mostUnanswered,
  mostUnits,
} from '../../src/platform/db/postgres-combiner.ts';
import { busyAfterMs } from '../../src/platform/db/postgres-lane.ts';
import { deepEnough, deepestLane } from '../../src/platform/db/postgres-lanes.ts';
import { type Agenda, Queue } from './agenda.ts';
import type { Costs, Kind } from './costs.ts';
import type { Log } from './log.ts';
import { type Machine, Thread } from './machine.ts';
import type { Change, Outcome, Store } from './store.ts';

/** A PostgreSQL that all nodes share. */
export class Primary {
  /** Statements that ran, and requests that asked for them. */
  statements = 0;
  units = 0;
  commits = 0;
  connections = 0;
  /** Milliseconds that connections for changes were at work, waits for the disk included. */
  changeMs = 0;
  readonly agenda: Agenda;
  readonly machine: Machine;
  readonly log: Log;
  /** Milliseconds from a node to it, one way. */
  readonly networkMs: number;

  constructor(agenda: Agenda, machine: Machine, log: Log, networkMs: number) {
    this.agenda = agenda;
    this.machine = machine;
    this.log = log;
    this.networkMs = networkMs;
  }
}

/** Combined statements are of kinds that `combinable` marks; what other kinds ask runs by itself. */
const combined: readonly Kind[] = ['code_exchange', 'refresh', 'userinfo', 'introspect'];

type Use = keyof typeof laneSizes;
type Statement = {
  readonly ms: number;
  /** More, when the process at the end of the connection sleeps. */
  readonly wakeMs: number;
  readonly use: Use;
  readonly done: (outcome: Outcome) => void;
};

/** One pipelined connection, and the process of PostgreSQL at its end, which waits for each commit. */
class Lane {
  inFlight = 0;
  #idleUntil = 0;
  readonly #primary: Primary;
  readonly #backend: Thread;
  readonly #queue = new Queue<Statement>();
  #isWorking = false;

  constructor(primary: Primary) {
    this.#primary = primary;
    this.#backend = new Thread(primary.machine);
    primary.connections += 1;
  }

  get isBusy(): boolean {
    return this.inFlight > 0 && this.#primary.agenda.now - this.#idleUntil > busyAfterMs;
  }

  send(statement: Statement): void {
    const { agenda, networkMs } = this.#primary;
    if (this.inFlight === 0) this.#idleUntil = agenda.now;
    this.inFlight += 1;
    const sentAt = agenda.now;
    const done = (outcome: Outcome) => {
      this.inFlight -= 1;
      statement.done(agenda.now - sentAt > defaultDeadlines.replyMs ? 'refused' : outcome);
    };
    agenda.after(networkMs, () => {
      this.#queue.push({ ...statement, done });
      if (!this.#isWorking) this.#next(false);
    });
  }

  #next(isAwake: boolean): void {
    const statement = this.#queue.shift();
    this.#isWorking = statement !== undefined;
    if (!statement) return;
    const { agenda, log, networkMs } = this.#primary;
    const since = agenda.now;
    const reply = () => {
      if (statement.use === 'changes') this.#primary.changeMs += agenda.now - since;
      agenda.after(networkMs, () => statement.done('answered'));
      this.#next(true);
    };
    const ended = () => {
      this.#primary.statements += 1;
      if (statement.use === 'reads') return reply();
      this.#primary.commits += 1;
      log.commit(reply);
    };
    this.#backend.run(statement.ms, ended, isAwake ? 0 : statement.wakeMs);
  }
}

/** The lanes of one use: there is another when the least busy one has much to do. */
class Lanes {
  readonly #primary: Primary;
  readonly #size: number;
  readonly #open: Lane[];

  constructor(primary: Primary, size: number) {
    this.#primary = primary;
    this.#size = size;
    this.#open = [new Lane(primary)];
  }

  get waiting(): number {
    return this.#open.reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  send(statement: Statement): void {
    const lane = this.#open.reduce((best, other) => (other.inFlight < best.inFlight ? other : best));
    if ((lane.isBusy || lane.inFlight >= deepEnough) && this.#open.length < this.#size) {
      this.#open.push(new Lane(this.#primary));
    }
    if (lane.inFlight >= deepestLane) statement.done('refused');
    else lane.send(statement);
  }
}

/** Gathers what many requests ask with the same text: `postgres-combiner.ts`, step by step. */
class Combiner {
  readonly #waiting = new Queue<(outcome: Outcome) => void>();
  #groups = 0;
  #scheduled = false;
  #overdue = 0;
  readonly loop: Thread;
  readonly agenda: Agenda;
  readonly send: (units: number, done: (outcome: Outcome) => void) => void;

  constructor(loop: Thread, agenda: Agenda, send: Combiner['send']) {
    this.loop = loop;
    this.agenda = agenda;
    this.send = send;
  }

  get unsent(): number {
    return this.#waiting.length;
  }

  run(done: (outcome: Outcome) => void): void {
    this.#waiting.push(done);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#groups < groupsAtOnce) {
      if (this.#scheduled) return;
      this.#scheduled = true;
      this.loop.run(0, () => this.#scheduled && this.#sendGroup());
    } else if (this.#overdue === 0) {
      this.#overdue = this.agenda.now + longestGatherMs;
      const due = this.#overdue;
      this.agenda.after(longestGatherMs, () => this.#overdue === due && this.#sendGroup());
    }
  }

  #sendGroup(): void {
    this.#scheduled = false;
    this.#overdue = 0;
    const group = this.#waiting.take(mostUnits);
    this.#groups += 1;
    const isTogether = group.length >= fewestUnits;
    let left = isTogether ? 1 : group.length;
    const ended = () => {
      left -= 1;
      if (left > 0) return;
      this.#groups -= 1;
      if (this.#waiting.length > 0) this.#schedule();
    };
    const answer = (done: (outcome: Outcome) => void) => (outcome: Outcome) => {
      done(outcome);
      ended();
    };
    if (isTogether) {
      this.send(group.length, (outcome) => {
        for (const done of group) done(outcome);
        ended();
      });
    } else for (const done of group) this.send(1, answer(done));
    if (this.#waiting.length > 0) this.#schedule();
  }
}

/** What one process has of PostgreSQL: its connections and what gathers for them. */
export class PostgresStore implements Store {
  readonly #primary: Primary;
  readonly #costs: Costs;
  readonly #lanes: Readonly<Record<Use, Lanes>>;
  readonly #combiners: Readonly<Partial<Record<Kind, Combiner>>>;
  #unanswered = 0;

  constructor(primary: Primary, loop: Thread, costs: Costs) {
    this.#primary = primary;
    this.#costs = costs;
    this.#lanes = {
      reads: new Lanes(primary, laneSizes.reads),
      changes: new Lanes(primary, laneSizes.changes),
      batches: new Lanes(primary, laneSizes.batches),
    };
    const combinerOf = (kind: Kind) => {
      const isRead = kind === 'userinfo' || kind === 'introspect';
      return new Combiner(loop, primary.agenda, (units, done) =>
        this.#send(isRead ? 'reads' : 'changes', kind, units, 1, done),
      );
    };
    this.#combiners = Object.fromEntries(combined.map((kind) => [kind, combinerOf(kind)]));
  }

  get waiting(): number {
    return Object.values(this.#lanes).reduce((sum, { waiting }) => sum + waiting, this.#unanswered);
  }

  read({ kind, done }: Pick<Change, 'kind' | 'done'>): void {
    if (this.#combiners[kind]) this.#combine(kind, done);
    else this.#send('reads', kind, 1, 1 / 2, done); // of two: this, and the change
  }

  /** PostgreSQL says nothing before the flush, so tokens are signed after it. */
  change({ kind, prepare, done }: Change): void {
    const settled = (outcome: Outcome) => {
      if (outcome === 'answered') prepare(() => done(outcome));
      else done(outcome);
    };
    if (this.#combiners[kind]) this.#combine(kind, settled);
    else this.#send(kind === 'sign_in' ? 'batches' : 'changes', kind, 1, 1 / 2, settled);
  }

  #combine(kind: Kind, done: (outcome: Outcome) => void): void {
    if (this.#unanswered >= mostUnanswered) {
      done('refused');
      return;
    }
    this.#unanswered += 1;
    this.#combiners[kind]!.run((outcome) => {
      this.#unanswered -= 1;
      done(outcome);
    });
  }

  /**
   * A combined statement takes what was measured of one request alone, and of as many as fit in it. One that is never combined takes what
   * was measured among many, and more when it wakes the server.
   * @param part of what the request costs the database.
   */
  #send(use: Use, kind: Kind, units: number, part: number, done: (outcome: Outcome) => void): void {
    const { database, databaseAlone } = this.#costs[kind];
    this.#primary.units += units;
    const isCombined = this.#combiners[kind] !== undefined;
    const oneMore = Math.max(0, mostUnits * database - databaseAlone) / (mostUnits - 1);
    const ms = isCombined ? databaseAlone + (units - 1) * oneMore : database;
    const wakeMs = isCombined ? 0 : databaseAlone - database;
    this.#lanes[use].send({ ms: part * ms, wakeMs: part * wakeMs, use, done });
  }
}
