import type { Param, Statement } from './sql.ts';

export type BatchResult = { changes: number; rows: Record<string, unknown>[] };

/** A statement of a change, and what makes the engine refuse the whole change instead of carrying it out. */
export type Step = Statement & {
  /** The statement is a requirement, made by `requirement`: it changes nothing, and what it asks has to be true. */
  readonly isRequirement?: boolean;
  /** It has to change a row. */
  readonly mustChange?: boolean;
  /** A unique index may refuse it. */
  readonly mayConflict?: boolean;
  /** Called by SQLite when the change is committed and the flush has begun; by PostgreSQL never. It must not throw. */
  readonly onCommitted?: (result: BatchResult) => void;
};
/** What became of a list of steps. `refusedAt` is the place of the step because of which nothing was changed. */
export type Committed = { results: BatchResult[] } | { refusedAt: number };

/** What an engine does for {@link Db}. Everything that reaches the store passes through one of these two. */
export type Engine = {
  readonly engine: 'sqlite' | 'postgres';
  /** Names this process among those that share the store: letters, digits and dashes. */
  readonly run_id: string;
  /** How many statements may wait for it, some seconds of work: more would be refused. */
  readonly room: number;
  /** Whether a process by that name holds the store open. Says yes rather than no where it cannot be sure. */
  isRunning(run_id: string): Promise<boolean>;
  query(statement: Statement): Promise<BatchResult['rows']>;
  /** To be called when a request arrives: its reads see every change that was confirmed before, by any process. */
  requestArrived(): void;
  /** All or nothing, in order. */
  commit(steps: readonly Step[]): Promise<Committed>;
  close(): Promise<void>;
};

/** One transaction that no other node's migration overlaps. It commits when the work resolves, else rolls back. */
export type MigrationSession = {
  all<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
  /** Runs a script of several statements. */
  exec(script: string): Promise<void>;
};

/** For engines: what a step that was carried out means for the change. */
export const isRefused = (step: Step, { changes, rows }: BatchResult): boolean =>
  (step.mustChange === true && changes === 0) || (step.isRequirement === true && rows[0]?.met !== 1);

/** For engines: what a step that threw means for the change. */
export const isExpectedConflict = (step: Step, error: unknown): boolean =>
  step.mayConflict === true && error instanceof UniqueViolation;

/**
 * The value as both engines can keep it: PostgreSQL refuses a NUL in text, and SQLite's functions stop there. So NUL becomes
 * U+FFFD, as half a surrogate pair does when either driver writes UTF-8, and no form makes a statement fail.
 */
export const storable = (param: Param): Param =>
  typeof param === 'string' && param.includes('\0') ? param.replaceAll('\0', '\ufffd') : param;

/** The store could not answer, and for certain nothing was changed. The caller must answer 503, never 200. */
export class StoreUnavailable extends Error {
  override name: string = 'StoreUnavailable';
}

/**
 * A change was sent and not confirmed: the connection broke, the reply did not come in time, or the flush of its commit
 * failed. It may have been kept, now or even later. A caller that retries must be ready for either.
 */
export class OutcomeUnknown extends StoreUnavailable {
  override name = 'OutcomeUnknown';
}

/** The store is there and may not be used as it is set up. Waiting does not help; the message is for the operator. */
export class StoreMisconfigured extends StoreUnavailable {
  override name = 'StoreMisconfigured';
}

/** The files that are open are not those at their paths any more, or something else was written over them. */
export class StoreMoved extends StoreUnavailable {
  override name = 'StoreMoved';
}

/** What was reached is a standby, or was the primary once: it takes no change, and what it says may be out of date. */
export class NotPrimary extends StoreUnavailable {
  override name = 'NotPrimary';
}

/** A unique index refused the change. */
export class UniqueViolation extends Error {
  override name = 'UniqueViolation';
}

/** What a new row belongs to is not there: deleted in the same instant, since every use-case has read it before. */
export class ForeignKeyViolation extends Error {
  override name = 'ForeignKeyViolation';
}

/** For the operator, on one line: what the engine said. Neither engine repeats a password or a URL in it. */
export function storeReason(error: StoreUnavailable): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const said = cause instanceof StoreUnavailable ? storeReason(cause) : cause.message;
  return `${error.message} (${(said || (cause as NodeJS.ErrnoException).code || cause.name).slice(0, 200)})`;
}
