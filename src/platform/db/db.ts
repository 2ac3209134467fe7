import { asWrite, type Change, type Done, type Requirements, type Write, type Writes, type Written } from './change.ts';
import type { BatchResult, Engine, Step } from './engine.ts';
import { type Fields, flag, type RowSchema, row, type ValuesOf } from './rows.ts';
import { Sql, sql } from './sql.ts';

export type { BatchResult, Committed, Step } from './engine.ts';
export {
  ForeignKeyViolation,
  NotPrimary,
  OutcomeUnknown,
  StoreMisconfigured,
  StoreMoved,
  StoreUnavailable,
  storeReason,
  UniqueViolation,
} from './engine.ts';
export type { Param, Statement } from './sql.ts';

/**
 * The store. One SQL text runs on SQLite and PostgreSQL: `text`, `bigint`, `on conflict`, `returning`, `exists`.
 *
 * There are no interactive transactions on purpose. A change is one conditional statement, or one `change` that commits
 * whole, so a race has one winner by construction, the embedded engine can put the writes of many requests under a
 * single fsync, and PostgreSQL answers in one round trip.
 *
 * A promise that resolves means "on disk". Every method throws {@link StoreUnavailable} when the engine cannot answer,
 * its subclass {@link OutcomeUnknown} when a change may or may not have been kept, and {@link UniqueViolation} when a
 * unique index refused it unexpectedly. Rows are checked against their schema: {@link RowMismatch}.
 */
export type Db = Engine & {
  all<Columns extends Fields>(rows: RowSchema<Columns>, statement: Sql): Promise<ValuesOf<Columns>[]>;
  get<Columns extends Fields>(rows: RowSchema<Columns>, statement: Sql): Promise<ValuesOf<Columns> | undefined>;
  /** Whether a condition is true at this moment. */
  holds(condition: Sql): Promise<boolean>;
  /** One change. */
  run(statement: Sql): Promise<{ changes: number }>;
  /** One change, with what `returning` gave. */
  run<Columns extends Fields>(
    rows: RowSchema<Columns>,
    statement: Sql,
    prepare?: Prepare<ValuesOf<Columns>>,
  ): Promise<Written<ValuesOf<Columns>>>;
  /** Several statements, all or nothing, on conditions. See {@link Change}. */
  change<Run extends Writes, Required extends Requirements = Record<never, never>>(
    change: Change<Required, Run>,
  ): Promise<Done<Required, Run>>;
};

/**
 * Prepares an answer while the disk flushes the change, and must do nothing that can be seen outside: the flush may fail. It
 * is called only where there is such a time, so never on PostgreSQL, which answers after its flush.
 */
export type Prepare<Row> = (rows: Row[]) => void;

/** A statement that both engines take: SQLite answers null, PostgreSQL raises `division_by_zero`, if it is not true. */
const requirement = (condition: Sql): Sql => sql`select 1 / (case when ${condition} then 1 else 0 end) as met`;

const Holds = row('a condition', { holds: flag });

/** Everything else that a {@link Db} can do, by the two things that an engine can. */
export function createDb<E extends Engine>(engine: E): Db & E {
  /** A step, with the name that it has in the change and who reads its rows. */
  type Named = Step & { name: string; rows?: Write<unknown, boolean>['rows'] };

  async function change({ lock = [], require = {}, run }: Change<Requirements, Writes>) {
    const steps: Named[] = listOf(lock).map(({ sql, params }) => ({ sql, params, name: '' }));
    for (const [name, condition] of Object.entries(require)) {
      if (condition === undefined) continue;
      const { sql, params } = requirement(condition);
      steps.push({ sql, params, name, isRequirement: true });
    }
    for (const [name, writes] of Object.entries(run)) {
      for (const write of writes === undefined ? [] : listOf(writes)) {
        const { statement, refuses: _, ...rest } = asWrite(write);
        const { sql, params, isIncidental } = statement;
        steps.push({ sql, params, isIncidental, name, ...rest });
      }
    }
    const committed = steps.length === 0 ? { results: [] } : await db.commit(steps);
    if ('refusedAt' in committed) return { ok: false, failed: steps[committed.refusedAt]?.name };
    const results: Record<string, Written<unknown>> = {};
    for (const name of Object.keys(run)) results[name] = { changes: 0, rows: [] };
    for (const [index, { changes, rows }] of committed.results.entries()) {
      const step = steps[index]!;
      const result = results[step.name];
      if (result === undefined || step.isRequirement) continue;
      result.changes += changes;
      if (step.rows) result.rows.push(...rows.map(step.rows.parse, step.rows));
    }
    return { ok: true, results };
  }

  const db: Db & E = {
    ...engine,
    all: async <Columns extends Fields>(rows: RowSchema<Columns>, statement: Sql) =>
      (await db.query(statement)).map(rows.parse, rows),
    async get<Columns extends Fields>(rows: RowSchema<Columns>, statement: Sql) {
      const [first] = await db.query(statement);
      return first && rows.parse(first);
    },
    async holds(condition: Sql) {
      const answer = await db.get(Holds, sql`select case when ${condition} then 1 else 0 end as holds`);
      return answer?.holds === true;
    },
    async run(first: Sql | RowSchema<Fields>, second?: Sql, prepare?: Prepare<unknown>) {
      const [schema, statement] = first instanceof Sql ? [undefined, first] : [first, second!];
      const preparation = schema && prepare && preparationOf(schema, prepare);
      const committed = await db.commit([preparation ? preparation.stepOf(statement) : statement]);
      if ('refusedAt' in committed) throw new TypeError('A statement without conditions was refused.');
      const { changes, rows } = committed.results[0]!;
      if (!schema) return { changes };
      return { changes, rows: preparation?.rows ?? rows.map(schema.parse, schema) };
    },
    change,
  } as Db & E;
  return db;
}

/** By a promise, so that it runs in the context of the request that asked, and not of one that began the group. */
function preparationOf(schema: RowSchema<Fields>, prepare: Prepare<unknown>) {
  const { promise, resolve } = Promise.withResolvers<BatchResult>();
  const preparation = {
    /** Parsed, which can be done once. */
    rows: undefined as unknown[] | undefined,
    stepOf: ({ sql, params, isIncidental, key }: Sql): Step => ({
      sql,
      params,
      isIncidental,
      key,
      onCommitted: resolve,
    }),
  };
  promise
    .then(({ rows }) => {
      preparation.rows = rows.map(schema.parse, schema);
      prepare(preparation.rows);
    })
    .catch(() => undefined); // the change itself reports a row that does not match its schema
  return preparation;
}

const listOf = <Item>(items: Item | readonly Item[]): readonly Item[] =>
  Array.isArray(items) ? items : [items as Item];
