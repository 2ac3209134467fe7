import { maxConcurrent } from '../../src/authentication/credentials/password-hash.ts';
import { laneSizes } from '../../src/platform/db/postgres.ts';
import { type Random, randomOf } from '../../test/support/seeded-random.ts';
import { Agenda } from './agenda.ts';
import { type Costs, type Engine, type Kind, kinds } from './costs.ts';
import { Latencies } from './latencies.ts';
import { Log } from './log.ts';
import { Machine, type Thread } from './machine.ts';
import { average, profile } from './people.ts';
import { PostgresStore, Primary } from './postgres-store.ts';
import { Server } from './server.ts';
import { SqliteStore } from './sqlite-store.ts';
import type { Outcome } from './store.ts';

export type Layout = {
  readonly engine: Engine;
  readonly people: number;
  readonly machines: number;
  readonly coresPerMachine: number;
  /** `SIGNET_WORKERS`. */
  readonly processesPerMachine: number;
  readonly databaseCores: number;
  /** Milliseconds of one flush. */
  readonly flushMs: number;
  /** Milliseconds from a node to the primary, or from that to its standby, one way. */
  readonly networkMs: number;
};

/** What goes wrong at `fromMs`. */
export type Fault =
  | { readonly what: 'lost_node'; readonly detectMs: number }
  | { readonly what: 'slow_disk'; readonly factor: number }
  | { readonly what: 'herd'; readonly factor: number; readonly durationMs: number };

export type Run = {
  readonly seed: number;
  readonly hour: number;
  readonly warmMs: number;
  readonly measuredMs: number;
};

/** Of the requests that came while it was measured. */
export type Measurement = {
  requests: number;
  refused: number;
  lost: number;
  /** Still without an answer at the end. */
  open: number;
  p50_ms: number;
  p99_ms: number;
  /** The longest that any waited. */
  max_ms: number;
  refused_by_kind: Partial<Record<Kind, number>>;
  /** How much of each resource was in use, from 0 to 1. */
  busy: Busy;
  /** The most that waited: passwords of one process, and requests of one for the store. */
  longest: { passwords: number; store: number };
  commits_per_s: number;
  /** Requests that shared a statement of PostgreSQL, on average. */
  requests_per_statement: number;
  connections: number;
};

export type Busy = {
  node_processors: number;
  event_loops: number;
  /** The threads that hash passwords. */
  password_threads: number;
  primary_processors: number;
  change_connections: number;
};

/** A node is one machine, with processes that share nothing but its processors. */
type Node = { readonly machine: Machine; readonly servers: readonly Server[] };

const sampleMs = 10;

export class Cluster {
  readonly #agenda = new Agenda();
  readonly #layout: Layout;
  readonly #random: Random;
  readonly #nodes: Node[];
  readonly #primary: Primary;
  #rotation: Server[];
  #turn = 0;
  #factor = 1;
  readonly #longest = { passwords: 0, store: 0 };

  constructor(costs: Costs, layout: Layout, seed: number) {
    this.#layout = layout;
    this.#random = randomOf(seed);
    const agenda = this.#agenda;
    const { flushMs, networkMs } = layout;
    const log = new Log(agenda, flushMs, 2 * networkMs);
    this.#primary = new Primary(agenda, new Machine(agenda, layout.databaseCores), log, networkMs);
    const storeFor = (loop: Thread) =>
      layout.engine === 'sqlite'
        ? new SqliteStore(agenda, loop, flushMs)
        : new PostgresStore(this.#primary, loop, costs);
    this.#nodes = Array.from({ length: layout.machines }, () => {
      const machine = new Machine(agenda, layout.coresPerMachine);
      const newServer = () => new Server(agenda, machine, costs, storeFor);
      return { machine, servers: Array.from({ length: layout.processesPerMachine }, newServer) };
    });
    this.#rotation = this.#serversOf(this.#nodes);
  }

  #serversOf = (nodes: readonly Node[]): Server[] =>
    // One of each node in turn, as a proxy sends to nodes.
    Array.from({ length: this.#layout.processesPerMachine }, (_, at) =>
      nodes.map(({ servers }) => servers[at]!),
    ).flat();

  run({ hour, warmMs, measuredMs }: Omit<Run, 'seed'>, fault?: Fault): Measurement {
    const agenda = this.#agenda;
    const rates = kinds.map((kind) => (average(this.#layout.people, kind) * profile(hour)) / 1000);
    const total = rates.reduce((sum, rate) => sum + rate);
    const latencies = new Latencies();
    const counts = { requests: 0, refused: 0, lost: 0, ended: 0 };
    const refused_by_kind: Measurement['refused_by_kind'] = {};
    const end = warmMs + measuredMs;
    const arrive = () => {
      const kind = this.#kindOf(rates, total);
      const since = agenda.now;
      const isMeasured = since >= warmMs;
      if (isMeasured) counts.requests += 1;
      const ended = (outcome: Outcome) => {
        if (!isMeasured) return;
        counts.ended += 1;
        if (outcome === 'answered') latencies.add(agenda.now - since);
        else counts[outcome] += 1;
        if (outcome === 'refused') refused_by_kind[kind] = (refused_by_kind[kind] ?? 0) + 1;
      };
      this.#rotation[this.#turn++ % this.#rotation.length]!.handle(kind, ended);
      agenda.after(this.#untilNext(total), arrive);
    };
    agenda.after(this.#untilNext(total), arrive);
    agenda.run(warmMs);
    if (fault) this.#begin(fault);
    const before = this.#used();
    this.#sample();
    agenda.run(end);
    const after = this.#used();
    const used = (name: keyof typeof after) => after[name] - before[name];
    const { coresPerMachine, processesPerMachine, databaseCores } = this.#layout;
    const machines = this.#left().length;
    const processes = machines * processesPerMachine;
    return {
      requests: counts.requests,
      refused: counts.refused,
      lost: counts.lost,
      open: counts.requests - counts.ended,
      p50_ms: latencies.quantile(0.5),
      p99_ms: latencies.quantile(0.99),
      max_ms: latencies.max,
      refused_by_kind,
      busy: {
        node_processors: used('nodes') / (machines * coresPerMachine * measuredMs),
        event_loops: used('loops') / (processes * measuredMs),
        password_threads: used('hashes') / (processes * maxConcurrent * measuredMs),
        primary_processors: used('primary') / (databaseCores * measuredMs),
        change_connections: used('changes') / (processes * laneSizes.changes * measuredMs),
      },
      longest: { ...this.#longest },
      commits_per_s: (used('commits') * 1000) / measuredMs,
      requests_per_statement: used('statements') > 0 ? used('units') / used('statements') : 1,
      connections: this.#primary.connections,
    };
  }

  #kindOf(rates: readonly number[], total: number): Kind {
    let left = this.#part() * total;
    for (const [at, rate] of rates.entries()) {
      left -= rate;
      if (left < 0) return kinds[at]!;
    }
    return kinds.at(-1)!;
  }

  /** Of arrivals that know nothing of each other (Poisson). */
  #untilNext = (perMs: number): number => -Math.log(1 - this.#part()) / (perMs * this.#factor);
  #part = (): number => this.#random.below(2 ** 32) / 2 ** 32;

  #begin(fault: Fault): void {
    const agenda = this.#agenda;
    if (fault.what === 'slow_disk') {
      this.#primary.log.flushMs *= fault.factor;
      for (const { servers } of this.#nodes)
        for (const { store } of servers) if (store instanceof SqliteStore) store.flushMs *= fault.factor;
    } else if (fault.what === 'herd') {
      this.#factor = fault.factor;
      agenda.after(fault.durationMs, () => (this.#factor = 1));
    } else {
      const [lost, ...others] = this.#nodes;
      lost!.machine.isLost = true;
      for (const server of lost!.servers) server.lose();
      // The proxy notices, and sends no more there.
      agenda.after(fault.detectMs, () => (this.#rotation = this.#serversOf(others)));
    }
  }

  #sample(): void {
    for (const { servers } of this.#nodes) {
      for (const { hashes, store } of servers) {
        this.#longest.passwords = Math.max(this.#longest.passwords, hashes.waiting);
        this.#longest.store = Math.max(this.#longest.store, store.waiting);
      }
    }
    this.#agenda.after(sampleMs, () => this.#sample());
  }

  #left = () => this.#nodes.filter(({ machine }) => !machine.isLost);

  #used() {
    const { machine, changeMs, statements, units, commits } = this.#primary;
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const nodes = this.#left();
    const servers = nodes.flatMap(({ servers }) => servers);
    return {
      nodes: sum(nodes.map(({ machine }) => machine.busyMs)),
      loops: sum(servers.map(({ loop }) => loop.busyMs)),
      hashes: sum(servers.map(({ hashes }) => hashes.busyMs)),
      primary: machine.busyMs,
      changes: changeMs,
      statements,
      units,
      commits,
    };
  }
}
