import type { Bench, Results } from '../../scripts/performance-docs.ts';
import { type Parts, usedByServer, type Window } from '../parts.ts';

export const kinds = ['sign_in', 'authorize', 'code_exchange', 'refresh', 'userinfo', 'introspect'] as const;
/** Of requests. */
export type Kind = (typeof kinds)[number];
export type Engine = 'sqlite' | 'postgres';

/** What one request takes, in milliseconds of a processor. */
export type Cost = {
  /** Of the thread that answers requests. */
  readonly loop: number;
  /** Of that, when nothing else keeps it awake. */
  readonly loopAlone: number;
  /** Of another thread, which signs tokens or hashes a password. */
  readonly thread: number;
  /** Of PostgreSQL, in a statement with many others. */
  readonly database: number;
  /** Of that, in a statement by itself. */
  readonly databaseAlone: number;
  /** Of who sends the request, in the bench. */
  readonly generator: number;
};
export type Costs = Readonly<Record<Kind, Cost>>;

/** What the model is made from. */
export type Measured = Pick<Results, 'bench' | 'postgres' | 'slowDisk' | 'parts' | 'windows'>;

/** Processors of the machine. */
export const coresOf = ({ machine }: Pick<Bench, 'machine'>): number => Number.parseInt(machine, 10);

/**
 * The processor time of an answer is that of docs/performance.md. How it is divided among threads and the database, and how
 * much more a request takes that is alone, are ratios of the runs that measured this.
 */
export function costsOf({ bench, postgres, parts }: Measured, engine: Engine): Costs {
  const recorded = (engine === 'sqlite' ? bench : postgres).processor_us.signet ?? {};
  const many = parts[engine].parts_us.signet ?? {};
  const few = parts[`${engine}_few`].parts_us.signet ?? {};
  // The runs that measured the parts had a slower machine. What is recorded of the same kinds says by how much.
  const known = kinds.filter((kind) => recorded[kind] !== undefined && kind !== 'sign_in');
  const usual = known.reduce((sum, kind) => sum + recorded[kind]! / usedByServer(many[kind]!), 0) / known.length;
  const costOf = (kind: Kind): Cost => {
    const scale = recorded[kind] === undefined ? usual : recorded[kind] / usedByServer(many[kind]!);
    return costOfParts(scaled(many[kind]!, scale), scaled(few[kind]!, scale));
  };
  const costs = Object.fromEntries(kinds.map((kind) => [kind, costOf(kind)])) as Record<Kind, Cost>;
  return { ...costs, sign_in: { ...costs.sign_in, thread: hashMs(bench) } };
}

/** Of one window, in which requests of one kind came. What one takes more that is alone is in proportion to that of the other runs. */
export function costOfWindow({ parts }: Measured, engine: Engine, kind: Kind, window: Window): Cost {
  const [many, few] = [parts[engine].parts_us.signet![kind]!, parts[`${engine}_few`].parts_us.signet![kind]!];
  return costOfParts(window.parts, scaled(few, usedByServer(window.parts) / usedByServer(many)));
}

const scaled = ({ event_loop, threads, database, generator }: Parts, factor: number): Parts => ({
  event_loop: event_loop * factor,
  threads: threads * factor,
  database: database * factor,
  generator: generator * factor,
});

const costOfParts = (shared: Parts, alone: Parts): Cost => ({
  loop: shared.event_loop / 1000,
  loopAlone: Math.max(alone.event_loop, shared.event_loop) / 1000,
  thread: shared.threads / 1000,
  database: shared.database / 1000,
  databaseAlone: Math.max(alone.database, shared.database) / 1000,
  generator: shared.generator / 1000,
});

/**
 * A hash takes longer than its processor time: two at once share the memory of the machine, and perhaps a core. So it counts
 * with the time that it took, with one on each processor.
 */
const hashMs = (bench: Bench): number => (coresOf(bench) * 1000) / bench.rates.signet!.sign_in!;

/** Milliseconds for a flush of the disk that was measured, in the run where that was least, as for processor time. */
export const measuredFlushMs = ({ parts }: Measured): number =>
  Math.min(...Object.values(parts).map(({ flush_ms }) => flush_ms));
