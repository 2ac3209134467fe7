import { nameOf } from '../../scripts/performance-text.ts';
import { connections, restMs } from '../load.ts';
import { Agenda } from './agenda.ts';
import { benchCores, costsOf, type Engine, type Kind, type Measured, measuredFlushMs } from './costs.ts';
import { Log } from './log.ts';
import { Machine, Thread } from './machine.ts';
import { PostgresStore, Primary } from './postgres-store.ts';
import { Server } from './server.ts';
import { SqliteStore } from './sqlite-store.ts';

/** A scenario of the bench, as the model gives it and as it was measured. */
export type Calibration = {
  readonly name: string;
  /** Answers per second. */
  readonly modelled: number;
  readonly measured: number;
  /** Why nothing is claimed of this one. */
  readonly notClaimed?: string;
};

/** What the model is held to, as a part of what was measured. */
export const tolerance = 0.15;

/** Why nothing is claimed of a scenario, as far as that is known. */
const bestRound =
  'the model promises too much, perhaps since processor times are those of the best round and rates of the middle one';
const ownRate = 'the time of a hash is reckoned from this rate';

type Bench = { engine: Engine; kind: Kind; onSlowDisk?: boolean; processes?: number; inFlight?: number };

/** The bench in the model: server, database and load generator share the processors of one machine. */
export function closedLoop(measured: Measured, { engine, kind, onSlowDisk, processes = 1, inFlight }: Bench): number {
  const agenda = new Agenda();
  const machine = new Machine(agenda, benchCores(measured));
  const costs = costsOf(measured, engine);
  const flush = measuredFlushMs(measured) + (onSlowDisk ? measured.slowDisk.fsync_ms : 0);
  const primary = new Primary(agenda, machine, new Log(agenda, flush), 0);
  const servers = Array.from(
    { length: processes },
    () =>
      new Server(agenda, machine, costs, (loop) =>
        engine === 'sqlite' ? new SqliteStore(agenda, loop, flush) : new PostgresStore(primary, loop, costs),
      ),
  );
  let answered = 0;
  let arrived: Server[] = [];
  const send = (server: Server) =>
    server.handle(kind, () => {
      answered += 1;
      arrived.push(server);
    });
  const generator = new Thread(machine);
  /** As `collectInBursts` of the bench: it takes what has come, sends as much, and rests. */
  const collect = () => {
    const answers = arrived;
    arrived = [];
    const next = () => {
      const server = answers.pop();
      if (server === undefined) return agenda.after(restMs, collect);
      generator.run(costs[kind].generator, () => {
        send(server);
        next();
      });
    };
    next();
  };
  for (let at = 0; at < (inFlight ?? connections); at += 1) send(servers[at % processes]!);
  collect();
  agenda.run(warmMs);
  const before = answered;
  agenda.run(warmMs + windowMs);
  return (answered - before) / (windowMs / 1000);
}

const warmMs = 200;
const windowMs = 1_000;

type Scenario = Bench & { measured: (measured: Measured) => number; notClaimed?: string };

const rate = (of: 'bench' | 'postgres' | 'workers', server: string, kind: Kind) => (measured: Measured) =>
  measured[of].rates[server]?.[kind] ?? Number.NaN;
const kindsOnBoth = ['code_exchange', 'refresh', 'userinfo', 'introspect'] as const;

/** Each scenario of the bench that has requests of the model's kinds. */
const scenarios: readonly Scenario[] = [
  ...kindsOnBoth.map((kind): Scenario => ({ engine: 'sqlite', kind, measured: rate('bench', 'signet', kind) })),
  {
    engine: 'sqlite',
    kind: 'authorize',
    measured: rate('bench', 'signet', 'authorize'),
    notClaimed: bestRound,
  },
  {
    engine: 'sqlite',
    kind: 'sign_in',
    inFlight: 2,
    measured: rate('bench', 'signet', 'sign_in'),
    notClaimed: ownRate,
  },
  ...(['code_exchange', 'refresh'] as const).map(
    (kind): Scenario => ({
      engine: 'sqlite',
      kind,
      onSlowDisk: true,
      measured: ({ slowDisk, bench }) => (slowDisk.slow_disk?.[kind] ?? Number.NaN) * bench.rates.signet![kind]!,
    }),
  ),
  ...kindsOnBoth.map(
    (kind): Scenario => ({
      engine: 'sqlite',
      kind,
      processes: 2,
      measured: rate('workers', 'workers', kind),
      notClaimed: bestRound,
    }),
  ),
  ...kindsOnBoth.map(
    (kind): Scenario => ({
      engine: 'postgres',
      kind,
      measured: rate('postgres', 'signet', kind),
      notClaimed: bestRound,
    }),
  ),
];

export const calibrate = (measured: Measured): Calibration[] =>
  scenarios.map(({ measured: rateOf, notClaimed: why, ...bench }) => ({
    name: [
      nameOf(bench.kind),
      bench.engine === 'sqlite' ? 'on SQLite' : 'on PostgreSQL',
      ...(bench.onSlowDisk ? ['and a slow disk'] : []),
      ...(bench.processes ? [`with ${bench.processes} processes`] : []),
    ].join(' '),
    modelled: closedLoop(measured, bench),
    measured: rateOf(measured),
    ...(why !== undefined && { notClaimed: why }),
  }));

export const isWithin = ({ modelled, measured }: Calibration): boolean =>
  Math.abs(modelled / measured - 1) <= tolerance;
