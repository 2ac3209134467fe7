import { type BatchResult, StoreUnavailable } from './engine.ts';
import type { BoundStatement } from './postgres-lane.ts';
import type { Param, Statement } from './sql.ts';

/** Statements in one. More would gain little, and hold back the first of them. */
export const mostUnits = 64;
/** Fewer cost less one by one. */
export const fewestUnits = 4;
/** Groups of one text on the wire. While so many are, what arrives gathers for the next one. */
export const groupsAtOnce = 2;
/** But not for longer: a group may be waiting for a lock, or a standby. */
export const longestGatherMs = 5;
/** After a combined statement has failed. Whatever was wrong with one of them, alone it does not fail the others. */
const pauseMs = 10_000;
/** Unanswered statements, some seconds of work. */
export const mostUnanswered = 5_000;

/** A statement whose caller waits for its result. */
type Unit = {
  readonly statement: Combinable;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: unknown) => void;
};
export type Combinable = Statement & { readonly key: string };
/** Of one text. */
type Gathering = {
  readonly form: CombinedForm;
  waiting: Unit[];
  /** Of the updates that wait. */
  readonly keys: Set<string>;
  groups: number;
  scheduled: NodeJS.Immediate | undefined;
  overdue: NodeJS.Timeout | undefined;
  /** Set while each is sent alone. */
  pause: NodeJS.Timeout | undefined;
};

/** Hands on what sends a statement, which is its own transaction; all that is sent by it has one deadline in common. */
type Sending = <Answer>(work: (send: Send) => Promise<Answer>) => Promise<Answer>;
type Send = (statement: BoundStatement) => Promise<BatchResult>;

export const isCombinable = (statement: Statement): statement is Combinable => statement.key !== undefined;

/**
 * Runs statements of the same text as one, where several requests make them in the same moment. Each gets the rows that are
 * its own. What fails together is tried again one by one.
 * @param sending throws what a caller of `Db` expects.
 */
export function createCombiner(sending: Sending) {
  const gatherings = new Map<string, Gathering>();
  let unanswered = 0;

  async function run(statement: Combinable): Promise<BatchResult> {
    if (unanswered >= mostUnanswered) throw new StoreUnavailable('Too many statements are waiting.');
    const types = typesOf(statement.params);
    if (!types) return sending((send) => send(statement));
    const gathering = gatherings.getOrInsertComputed(statement.sql, () => newGathering(statement.sql, types));
    const { form, waiting, keys, pause } = gathering;
    if (types !== form.types || keys.has(statement.key) || pause !== undefined)
      return sending((send) => send(statement));
    unanswered += 1;
    try {
      return await new Promise((resolve, reject) => {
        waiting.push({ statement, resolve, reject });
        if (statement.key !== '') keys.add(statement.key);
        schedule(gathering);
      });
    } finally {
      unanswered -= 1;
    }
  }

  function schedule(gathering: Gathering): void {
    if (gathering.groups < groupsAtOnce) gathering.scheduled ??= setImmediate(sendGroup, gathering);
    else gathering.overdue ??= setTimeout(sendGroup, longestGatherMs, gathering);
  }

  function sendGroup(gathering: Gathering): void {
    clearImmediate(gathering.scheduled);
    clearTimeout(gathering.overdue);
    gathering.scheduled = gathering.overdue = undefined;
    const group = gathering.waiting.splice(0, mostUnits);
    for (const { statement } of group) gathering.keys.delete(statement.key);
    gathering.groups += 1;
    void sending((send) => answer(gathering, group, send)).finally(() => {
      gathering.groups -= 1;
      if (gathering.waiting.length > 0) schedule(gathering);
    });
    if (gathering.waiting.length > 0) schedule(gathering);
  }

  async function answer(gathering: Gathering, group: readonly Unit[], send: Send): Promise<void> {
    if (group.length < fewestUnits) return answerEach(group, send);
    // Updates that two groups have in common are locked in the same order, so that neither waits for the other.
    const ordered = group.toSorted((one, other) => (one.statement.key < other.statement.key ? -1 : 1));
    try {
      const { rows } = await send(combined(gathering.form, ordered));
      const results = ordered.map((): BatchResult => ({ changes: 0, rows: [] }));
      for (const { [place]: nth, ...row } of rows) {
        const result = results[Number(nth) - 1]!;
        result.changes += 1;
        result.rows.push(row);
      }
      for (const [index, { resolve }] of ordered.entries()) resolve(results[index]!);
    } catch (error) {
      pause(gathering);
      if (!(error instanceof StoreUnavailable)) return answerEach(ordered, send);
      for (const { reject } of ordered) reject(error);
    }
  }

  function pause(gathering: Gathering): void {
    gathering.pause ??= setTimeout(() => (gathering.pause = undefined), pauseMs).unref();
  }

  async function answerEach(units: readonly Unit[], send: Send): Promise<void> {
    await Promise.all(units.map(({ statement, resolve, reject }) => send(statement).then(resolve, reject)));
  }

  return { run };
}

const newGathering = (sql: string, types: string): Gathering => ({
  form: combinedForm(sql, types),
  waiting: [],
  keys: new Set(),
  groups: 0,
  scheduled: undefined,
  overdue: undefined,
  pause: undefined,
});

/** The column with the place that a row's statement has among the others, from 1. */
const place = 'nth';

/** `types`: of the parameters, in order. */
type CombinedForm = { readonly text: string; readonly types: string };

/**
 * The text that runs any number of such statements: their parameters are the columns of a table, with a row for each.
 * @throws {TypeError} for a statement that is not of one of the two shapes.
 */
export function combinedForm(sql: string, types: string): CombinedForm {
  const columns = types.split(' ').map((_, index) => `p${index + 1}`);
  const lists = types.split(' ').map((type, index) => `$${index + 1}::${type}[]`);
  const asked = `unnest(${lists.join(', ')}) with ordinality as asked (${[...columns, place].join(', ')})`;
  const each = sql.trim().replace(/\$(\d+)\b/g, 'asked.p$1');
  if (/^select\b/.test(each)) {
    // `offset 0` keeps the planner from taking the query apart: each runs as it would alone.
    const text = `select asked.${place}, answer.* from ${asked} cross join lateral (${each} offset 0) answer`;
    return { text, types };
  }
  const where = /^update [\w.]+ set\b/.test(each) ? outerWhere(each) : -1;
  if (where === -1 || !/\sreturning\s[^()]*$/.test(each)) throw new TypeError(`It cannot be combined: ${sql}`);
  return { text: `${each.slice(0, where)} from ${asked} ${each.slice(where)}, asked.${place}`, types };
}

/** Where the `where` of the statement itself begins. */
function outerWhere(sql: string): number {
  let depth = 0;
  for (const { 0: word, index } of sql.matchAll(/[()]|\bwhere\b/g)) {
    if (word === 'where' && depth === 0) return index;
    if (word !== 'where') depth += word === '(' ? 1 : -1;
  }
  return -1;
}

/** @returns the names of the types, or undefined if a parameter has none, as null. */
export function typesOf(params: readonly Param[] = []): string | undefined {
  let types = '';
  for (const param of params) {
    if (typeof param !== 'string' && !Number.isSafeInteger(param)) return undefined;
    types += typeof param === 'string' ? ' text' : ' bigint';
  }
  return types.slice(1);
}

function combined({ text, types }: CombinedForm, units: readonly Unit[]): BoundStatement {
  const lists = types.split(' ').map((_, index) => units.map(({ statement }) => statement.params![index]!));
  return { sql: text, params: lists };
}
