import { nameOf } from '../../scripts/performance-text.ts';
import { restMs } from '../load.ts';
import type { Window } from '../parts.ts';
import { Agenda } from './agenda.ts';
import { coresOf, costOfWindow, costsOf, type Engine, type Kind, kinds, type Measured } from './costs.ts';
import { Log } from './log.ts';
import { keepBusy, Machine, Thread } from './machine.ts';
import { PostgresStore, Primary } from './postgres-store.ts';
import { Server } from './server.ts';
import { SqliteStore } from './sqlite-store.ts';

/** A scenario of the bench, as the model gives it and as it was measured. */
export type Calibration = {
  readonly name: string;
  /** Answers per second. */
  readonly modelled: number;
  readonly measured: number;
  /** Processors that other work had meanwhile, which the model leaves to it. */
  readonly others: number;
};

/** What the model is held to, as a part of what was measured. */
export const tolerance = 0.15;

/** A scenario that the bench has measured. */
type Scenario = {
  engine: Engine;
  kind: Kind;
  /** Of that run; without it, one process on the disk as it is. */
  server?: 'slow_disk' | 'workers';
};

const windowOf = ({ windows }: Measured, { engine, kind, server }: Scenario): Window =>
  windows[engine].quietest[server ?? 'signet']![kind]!;

/** The bench in the model: server, database, load generator and whatever else ran share the processors of one machine. */
export function closedLoop(measured: Measured, scenario: Scenario): number {
  const { engine, kind, server } = scenario;
  const run = measured.windows[engine];
  const agenda = new Agenda();
  const machine = new Machine(agenda, coresOf(run));
  const window = windowOf(measured, scenario);
  keepBusy(agenda, machine, window.others);
  const cost = costOfWindow(measured, engine, kind, window);
  const costs = { ...costsOf(measured, engine), [kind]: cost };
  const flush = run.flush_ms + (server === 'slow_disk' ? run.fsync_ms : 0);
  const processes = server === 'workers' ? run.processes : 1;
  const inFlight = kind === 'sign_in' ? signInsAtOnce : run.connections;
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
      generator.run(cost.generator, () => {
        send(server);
        next();
      });
    };
    next();
  };
  for (let at = 0; at < inFlight; at += 1) send(servers[at % processes]!);
  collect();
  agenda.run(warmMs);
  const before = answered;
  agenda.run(warmMs + windowMs);
  return (answered - before) / (windowMs / 1000);
}

const warmMs = 200;
const windowMs = 1_000;

/** As the bench asks for them. */
const signInsAtOnce = 2;
const onBoth = ['code_exchange', 'refresh', 'userinfo', 'introspect'] as const;
const changes = ['code_exchange', 'refresh'] as const;
const onDisk = { engine: 'sqlite' } as const;
const onServer = { engine: 'postgres' } as const;
const scenarios: readonly Scenario[] = [
  ...kinds.map((kind) => ({ ...onDisk, kind })),
  ...changes.map((kind) => ({ ...onDisk, kind, server: 'slow_disk' as const })),
  ...onBoth.map((kind) => ({ ...onDisk, kind, server: 'workers' as const })),
  ...kinds.map((kind) => ({ ...onServer, kind })),
  ...onBoth.map((kind) => ({ ...onServer, kind, server: 'workers' as const })),
];

export const calibrate = (measured: Measured): Calibration[] =>
  scenarios.map((scenario) => {
    const { engine, kind, server } = scenario;
    const { rate, others } = windowOf(measured, scenario);
    return {
      name: [
        nameOf(kind),
        engine === 'sqlite' ? 'on SQLite' : 'on PostgreSQL',
        ...(server === 'slow_disk' ? ['and a slow disk'] : []),
        ...(server === 'workers' ? [`with ${measured.windows[engine].processes} processes`] : []),
      ].join(' '),
      modelled: closedLoop(measured, scenario),
      measured: rate,
      others,
    };
  });

export const isWithin = ({ modelled, measured }: Calibration): boolean =>
  Math.abs(modelled / measured - 1) <= tolerance;
