import type { Bucket } from '../ids.ts';
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
 * A part of the store, in which all rows of a user are together. One SQL text runs on SQLite and PostgreSQL: `text`, `bigint`,
 * `on conflict`, `returning`, `exists`.
 *
 * There are no interactive transactions on purpose. A change is one conditional statement, or one `change` that commits
 * whole, so a race has one winner by construction, the embedded engine can put the writes of many requests under a
 * single fsync, and PostgreSQL answers in one round trip.
 *
 * A promise that resolves means "on disk". Every method throws {@link StoreUnavailable} when the engine cannot answer,
 * its subclass {@link OutcomeUnknown} when a change may or may not have been kept, and {@link UniqueViolation} when a
 * unique index refused it unexpectedly. Rows are checked against their schema: {@link RowMismatch}.
 */
export type Part = Pick<Engine, 'query' | 'commit'> & {
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
  /** Several statements, all or nothing, on conditions. See {@link Change}; of several parts: {@link inOrder}. */
  change<Run extends Writes, Required extends Requirements = Record<never, never>>(
    change: Change<Required, Run>,
  ): Promise<Done<Required, Run>>;
};

/**
 * The store: one part, which does everything, or several (decision 68). Who asks says by `of`, `in` or `shared` where the rows are;
 * `place` in `tables.ts` says it of each table.
 */
export type Places = Omit<Engine, 'query' | 'commit'> & {
  /**
   * The part with the rows of a user, by whatever is of the user: an id, a session's or a code's secret; or the part with a row of the
   * place `key`, by its key. See {@link bucketOf}.
   */
  of(id: string): Part;
  in(bucket: Bucket): Part;
  /**
   * As `of`, but while that part is away another one stands in for it: for rows that need not be found again, such as counts. They begin
   * anew there.
   */
  near(key: string): Part;
  /** Where the tables that all parts have a copy of are changed. */
  readonly shared: Part;
  /** Each as a store of its own, the one of `shared` first: for jobs and lists over all rows. */
  readonly parts: readonly OneDb[];
};

export type Db = Places;

/**
 * A part as a store of its own. Without `schema` it is the whole store, or the part of the shared tables; `server` has the same answer for
 * those whose statements wait for the same one, and may change.
 */
export type OneDb = Places & Part & { readonly schema?: string | undefined; server?(): unknown };

/** The same with what else its engine can do. */
export type StoreOf<E extends Engine> = Omit<OneDb, 'parts'> & E & { readonly parts: readonly StoreOf<E>[] };

/**
 * Prepares an answer while the disk flushes the change, and must do nothing that can be seen outside: the flush may fail. It
 * is called only where there is such a time, so never on PostgreSQL, which answers after its flush.
 */
export type Prepare<Row> = (rows: Row[]) => void;

/** A statement that both engines take: SQLite answers null, PostgreSQL raises `division_by_zero`, if it is not true. */
const requirement = (condition: Sql): Sql => sql`select 1 / (case when ${condition} then 1 else 0 end) as met`;

const Holds = row('a condition', { holds: flag });

/** A store in one part: everything else that a {@link Part} can do, by the two things that an engine can. */
export function createDb<E extends Engine>(engine: E): StoreOf<E> {
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

  const db: StoreOf<E> = {
    ...engine,
    of: () => db,
    in: () => db,
    near: () => db,
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
  } as unknown as StoreOf<E>;
  return Object.assign(db, { shared: db, parts: [db] });
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

/** A change of one part, or of each of several, as a step of {@link inOrder}. */
type ChangeIn<Required extends Requirements, Run extends Writes> = Change<Required, Run> & {
  in: Part | readonly Part[];
};
type Nothing = Record<never, never>;

/**
 * A change whose rows may be in several parts. Those of one part are all or nothing, so in a store of one part it is one change. Else
 * each part has its own, in this order, and the first that is refused ends it: whatever is before has to be harmless by itself, since
 * a crash may leave it alone. No two of them may have a name in common.
 */
export function inOrder<
  W1 extends Writes,
  W2 extends Writes,
  R1 extends Requirements = Nothing,
  R2 extends Requirements = Nothing,
  W3 extends Writes = Nothing,
  R3 extends Requirements = Nothing,
  W4 extends Writes = Nothing,
  R4 extends Requirements = Nothing,
>(
  first: ChangeIn<R1, W1> | undefined,
  second: ChangeIn<R2, W2>,
  third?: ChangeIn<R3, W3>,
  fourth?: ChangeIn<R4, W4>,
): Promise<Done<R1 & R2 & R3 & R4, W1 & W2 & W3 & W4>>;
export function inOrder(...changes: (ChangeIn<Requirements, Writes> | undefined)[]): Promise<unknown> {
  const all = byPart(changes);
  const [first] = all;
  return all.length === 1 && first ? first.in.change(first) : oneByOne(all);
}

type ChangeOfOne = ChangeIn<Requirements, Writes> & { in: Part };

async function oneByOne(changes: readonly ChangeOfOne[]): Promise<unknown> {
  const results: Record<string, Written<unknown>> = {};
  for (const one of changes) {
    const done = await one.in.change(one);
    if (!done.ok) return done;
    for (const [name, { changes, rows = [] }] of Object.entries<Partial<Written<unknown>>>(done.results)) {
      const before = results[name];
      results[name] = { changes: (before?.changes ?? 0) + (changes ?? 0), rows: [...(before?.rows ?? []), ...rows] };
    }
  }
  return { ok: true, results };
}

/** Neighbours of one part as one. */
function byPart(changes: readonly (ChangeIn<Requirements, Writes> | undefined)[]): ChangeOfOne[] {
  const merged: ChangeOfOne[] = [];
  for (const change of changes) {
    for (const part of change === undefined ? [] : listOf(change.in)) {
      const last = merged.at(-1);
      const { lock = [], require, run } = change!;
      if (last?.in !== part) merged.push({ in: part, lock, require, run } as ChangeOfOne);
      else {
        merged[merged.length - 1] = {
          in: part,
          lock: [...listOf(last.lock ?? []), ...listOf(lock)],
          require: { ...last.require, ...require },
          run: { ...last.run, ...run },
        };
      }
    }
  }
  return merged;
}
