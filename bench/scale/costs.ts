import type { Bench, Results } from '../../scripts/performance-docs.ts';

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
export type Measured = Pick<Results, 'bench' | 'postgres' | 'slowDisk' | 'workers' | 'parts'>;

const coresOf = ({ machine }: Bench): number => Number.parseInt(machine, 10);

/**
 * The processor time of an answer is that of docs/performance.md. How it is divided among threads and the database, and how
 * much more a request takes that is alone, are ratios of the runs that measured this.
 */
export function costsOf({ bench, postgres, parts }: Measured, engine: Engine): Costs {
  const recorded = (engine === 'sqlite' ? bench : postgres).processor_us.signet ?? {};
  const many = parts[engine].parts_us.signet ?? {};
  const few = parts[`${engine}_few`].parts_us.signet ?? {};
  const totalOf = (kind: Kind) => many[kind]!.event_loop + many[kind]!.threads + many[kind]!.database;
  // The runs that measured the parts had a slower machine. What is recorded of the same kinds says by how much.
  const known = kinds.filter((kind) => recorded[kind] !== undefined && kind !== 'sign_in');
  const usual = known.reduce((sum, kind) => sum + recorded[kind]! / totalOf(kind), 0) / known.length;
  const costOf = (kind: Kind): Cost => {
    const scale = (recorded[kind] === undefined ? usual : recorded[kind] / totalOf(kind)) / 1000;
    const [shared, alone] = [many[kind]!, few[kind]!];
    return {
      loop: shared.event_loop * scale,
      loopAlone: Math.max(alone.event_loop, shared.event_loop) * scale,
      thread: shared.threads * scale,
      database: shared.database * scale,
      databaseAlone: Math.max(alone.database, shared.database) * scale,
      generator: shared.generator * scale,
    };
  };
  const costs = Object.fromEntries(kinds.map((kind) => [kind, costOf(kind)])) as Record<Kind, Cost>;
  return { ...costs, sign_in: { ...costs.sign_in, thread: hashMs(bench) } };
}

/**
 * A hash takes longer than its processor time: two at once share the memory of the machine, and perhaps a core. So it counts
 * with the time that it took, with one on each processor.
 */
const hashMs = (bench: Bench): number => (coresOf(bench) * 1000) / bench.rates.signet!.sign_in!;

/** Milliseconds for a flush of the disk that was measured, in the run where that was least, as for processor time. */
export const measuredFlushMs = ({ parts }: Measured): number =>
  Math.min(...Object.values(parts).map(({ flush_ms }) => flush_ms));

export const benchCores = ({ bench }: Measured): number => coresOf(bench);
