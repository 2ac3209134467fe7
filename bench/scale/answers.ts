import { createHash } from 'node:crypto';
import { type Calibration, calibrate } from './calibration.ts';
import { Cluster, type Fault, type Layout, type Measurement, type Run } from './cluster.ts';
import { type Costs, costsOf, type Engine, type Kind, kinds, type Measured, measuredFlushMs } from './costs.ts';
import { average, people, profile } from './people.ts';
import { steps } from './server.ts';

/** What a run of the command may set. */
export type Options = {
  seed: number;
  /** Of the day. */
  hour: number;
  coresPerMachine: number;
  processesPerMachine: number;
  /** Milliseconds from a node to the primary, or from that to its standby, one way. */
  networkMs: number;
  /** Milliseconds of a flush, of primary and standby. */
  flushMs: number;
  /** Until a proxy sends nothing more to a node that is gone. */
  detectMs: number;
  slowDiskFactor: number;
  herdFactor: number;
  herdMs: number;
};

/** A disk as in a cloud: so much slower than the one that was measured as that of the bench's other run. */
export const cloudFlushMs = (measured: Measured): number => measuredFlushMs(measured) + measured.slowDisk.fsync_ms;

export const defaults = (measured: Measured): Options => ({
  seed: 1,
  hour: 9,
  coresPerMachine: 8,
  processesPerMachine: 4,
  networkMs: 0.25,
  flushMs: cloudFlushMs(measured),
  detectMs: 2_000,
  slowDiskFactor: 10,
  herdFactor: 4,
  herdMs: 5_000,
});

/** Of a processor that is to be used in the busiest second. */
export const wantedLoad = 0.5;
/** Processors of machines that a database can be rented with. */
const databaseSizes = [4, 8, 16, 32, 64, 96, 128, 192];

/** How many people, on how many primaries that know nothing of each other. */
export type Size = { readonly people: number; readonly engine: Engine; readonly primaries: number };
export const sizes: readonly Size[] = [
  { people: 1e6, engine: 'sqlite', primaries: 1 },
  { people: 1e6, engine: 'postgres', primaries: 1 },
  { people: 1e8, engine: 'postgres', primaries: 1 },
  { people: 1e9, engine: 'postgres', primaries: 10 },
  { people: 1e9, engine: 'postgres', primaries: 1 },
];

export type Answer = Size & {
  /** Of all primaries together. */
  machines: number;
  /** Processors of each. */
  primary_processors: number;
  requests_per_s: number;
  /** Requests that change something, in a second. */
  changes_per_s: number;
  /** Bytes that the primaries write to their logs, in a second. */
  log_bytes_per_s: number;
  usual: Measurement;
  faults: Partial<Record<Fault['what'], Measurement>>;
};

/** People, on one primary. With more it takes minutes, and one primary is not the answer. */
const mostWithFaults = 2e8;
const warmMs = 300;
/** So long that some ten thousand requests come, and so short that everything takes less than a minute. */
const windowFor = (perSecond: number, [least, most]: readonly [number, number]): number =>
  Math.min(most, Math.max(least, (80_000 / perSecond) * 1000));

type Sized = { layout: Layout; costs: Costs };

/** So many machines, and a primary so large, that at the busiest hour no more is in use than wanted; and one to spare. */
function layOut(measured: Measured, { people: count, engine, primaries }: Size, options: Options): Sized {
  const costs = costsOf(measured, engine);
  const ofOne = count / primaries;
  const { coresPerMachine, processesPerMachine, flushMs, networkMs, seed } = options;
  const fixed = { engine, people: ofOne, coresPerMachine, flushMs, networkMs };
  if (engine === 'sqlite') {
    return { costs, layout: { ...fixed, machines: 1, processesPerMachine: 1, databaseCores: 1 } };
  }
  const atPeak = (kind: Kind) => average(ofOne, kind) * profile(people.peakHour);
  const perSecond = kinds.reduce((sum, kind) => sum + atPeak(kind), 0);
  const needed = kinds.reduce((sum, kind) => {
    const { loopAlone, thread } = costs[kind];
    return sum + (atPeak(kind) * (loopAlone + thread)) / 1000;
  }, 0);
  let machines = Math.ceil(needed / coresPerMachine / wantedLoad);
  let databaseCores = databaseSizes.at(-1)!;
  // What a request takes depends on how much is to do, and so on how many share it.
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const layout = { ...fixed, machines, processesPerMachine, databaseCores };
    const { busy } = new Cluster(costs, layout, seed).run({
      hour: people.peakHour,
      warmMs: 100,
      measuredMs: windowFor(perSecond, [100, 500]),
    });
    // A process has one event loop and two threads for passwords, so processors alone do not say it.
    const fullest = Math.max(busy.node_processors, busy.event_loops, busy.password_threads);
    const fewer = Math.max(1, Math.ceil((machines * fullest) / wantedLoad));
    const wanted = (busy.primary_processors * databaseCores) / wantedLoad;
    const smaller = databaseSizes.find((cores) => cores >= wanted) ?? databaseSizes.at(-1)!;
    if (fewer === machines && smaller === databaseCores) break;
    [machines, databaseCores] = [fewer, smaller];
  }
  return { costs, layout: { ...fixed, machines: machines + 1, processesPerMachine, databaseCores } };
}

export function answer(
  measured: Measured,
  size: Size,
  options: Options,
  say: (text: string) => void = () => {},
): Answer {
  const { seed, hour } = options;
  const { layout, costs } = layOut(measured, size, options);
  say(`${size.people / 1e6} million on ${size.engine}: ${layout.machines * size.primaries} machines`);
  const perSecond = kinds.reduce((sum, kind) => sum + average(layout.people, kind), 0) * profile(hour);
  const measuredMs = windowFor(perSecond, [300, 20_000]);
  const run = (lasts: number, fault?: Fault): Measurement =>
    new Cluster(costs, layout, seed).run({ hour, warmMs, measuredMs: lasts } satisfies Omit<Run, 'seed'>, fault);
  const usual = run(measuredMs);
  const { detectMs, slowDiskFactor, herdFactor, herdMs } = options;
  const faults: Answer['faults'] = {};
  // A part of ten is what it is by itself, so the faults of ten are those of one.
  if (size.primaries === 1 && size.people <= mostWithFaults) {
    if (layout.machines > 1) {
      say('  a lost node');
      faults.lost_node = run(detectMs + 1_000, { what: 'lost_node', detectMs });
    }
    say('  a slow disk');
    faults.slow_disk = run(Math.max(measuredMs, 2_000), { what: 'slow_disk', factor: slowDiskFactor });
    say('  a herd');
    faults.herd = run(herdMs + 2_000, { what: 'herd', factor: herdFactor, durationMs: herdMs });
  }
  return {
    ...size,
    machines: layout.machines * size.primaries,
    primary_processors: size.engine === 'sqlite' ? 0 : layout.databaseCores,
    requests_per_s: perSecond * size.primaries,
    changes_per_s: changesOf(size, hour),
    log_bytes_per_s: changesOf(size, hour) * bytesOfChange(measured, size),
    usual,
    faults,
  };
}

const changesOf = ({ people: count }: Size, hour: number): number =>
  kinds.reduce((sum, kind) => sum + (steps[kind].includes('change') ? average(count, kind) * profile(hour) : 0), 0);

/** Of the log, by what a code and its exchange were measured to add, which are two changes. */
const bytesOfChange = ({ bench, postgres }: Measured, { engine }: Size): number =>
  (engine === 'sqlite' ? bench : postgres).wal_bytes / 2;

/** What `npm run simulate -- --scale --json` writes. */
export type ScaleResult = {
  /** Of the figures that it is made from: another one when these have changed. */
  inputs: string;
  options: Options;
  calibration: Calibration[];
  answers: Answer[];
};

/** A digest of the figures that the model is made from. */
export function inputsOf(measured: Measured): string {
  const { bench, postgres, slowDisk, parts, windows } = measured;
  return createHash('sha256').update(JSON.stringify({ bench, postgres, slowDisk, parts, windows })).digest('hex');
}

export const scale = (
  measured: Measured,
  asked: readonly Size[],
  options: Options,
  say?: (text: string) => void,
): ScaleResult => ({
  inputs: inputsOf(measured),
  options,
  calibration: calibrate(measured),
  answers: asked.map((size) => answer(measured, size, options, say)),
});
