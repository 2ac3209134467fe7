/** What a statement may bind. Booleans and dates do not exist here: state is a nullable `…_at` in Unix seconds. */
export type Param = string | number | null;

export type Statement = { sql: string; params?: readonly Param[] };
export type BatchResult = { changes: number; rows: Record<string, unknown>[] };

/**
 * The store. One SQL text runs on SQLite and PostgreSQL: `text`, `bigint`, `$1`, `on conflict`, `returning`, `exists`.
 *
 * There are no interactive transactions on purpose. A change is one conditional statement, or one `batch` that commits
 * whole, so a race has one winner by construction, the embedded engine can put the writes of many requests under a
 * single fsync, and PostgreSQL answers in one round trip.
 *
 * A promise that resolves means "on disk". Every method throws {@link StoreUnavailable} when the engine cannot answer,
 * its subclass {@link OutcomeUnknown} when a change may or may not have been kept, and {@link UniqueViolation} when a
 * unique index refused it.
 */
export type Db = {
  readonly engine: 'sqlite' | 'postgres';
  /** Names this process among those that share the store: letters, digits and dashes. */
  readonly run_id: string;
  /** Whether a process by that name holds the store open. Says yes rather than no where it cannot be sure. */
  isRunning(run_id: string): Promise<boolean>;
  all<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
  get<Row>(sql: string, params?: readonly Param[]): Promise<Row | undefined>;
  /** One change. `rows` holds what `returning` gave. */
  run(sql: string, params?: readonly Param[]): Promise<BatchResult>;
  /** All or nothing, in order. */
  batch(statements: readonly Statement[]): Promise<BatchResult[]>;
  close(): Promise<void>;
};

/** The store could not answer, and for certain nothing was changed. The caller must answer 503, never 200. */
export class StoreUnavailable extends Error {
  override name: string = 'StoreUnavailable';
}

/**
 * A change was sent and not confirmed: the connection broke, the reply did not come in time, or the flush of its commit
 * failed. It may have been kept, now or even later. Whoever asks again must be ready for either.
 */
export class OutcomeUnknown extends StoreUnavailable {
  override name = 'OutcomeUnknown';
}

/** The store is there and may not be used as it is set up. Waiting does not help; the message is for the operator. */
export class StoreMisconfigured extends StoreUnavailable {
  override name = 'StoreMisconfigured';
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
