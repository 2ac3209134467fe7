import { goesWithout } from './absent-parts.ts';
import { type Db, type OneDb, type Part, StoreUnavailable } from './db.ts';

/**
 * What each part answers, in the order of the parts: for counts, lists and jobs over all rows. One that is away is left out where the
 * work under way only shows what is there ({@link showingWhatIsThere}).
 * @param absent what stands for a part that is left out; nothing by default.
 */
export async function askAll<Answer>(
  db: Db,
  ask: (part: OneDb) => Promise<Answer>,
  absent?: (part: OneDb) => Answer,
): Promise<Answer[]> {
  const asked = db.parts.map(async (part) => {
    try {
      return [await ask(part)];
    } catch (error) {
      leaveOut(db.parts, part, error);
      return absent ? [absent(part)] : [];
    }
  });
  return (await Promise.all(asked)).flat();
}

/** In a store of one part nothing is left out. @throws the error, unless the work under way goes without the part. */
function leaveOut(parts: readonly OneDb[], part: OneDb, error: unknown): void {
  if (!(error instanceof StoreUnavailable) || parts.length === 1 || !goesWithout(schemaOf(part))) throw error;
}

/** `public`: where the shared tables are changed. */
export const schemaOf = ({ schema = 'public' }: OneDb): string => schema;

/** What one part answers, as good as any: the last one that is there. */
export async function askOne<Answer>(db: Db, ask: (part: OneDb) => Promise<Answer>): Promise<Answer> {
  let reason: unknown;
  for (const part of db.parts.toReversed()) {
    try {
      return await ask(part);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      reason ??= error;
    }
  }
  throw reason;
}

/** Work in several parts at once. One that fails ends no other. @throws what the first of them has thrown, when all have ended. */
export async function workIn<In, Done>(parts: readonly In[], work: (part: In) => Promise<Done>): Promise<Done[]> {
  const ended = await Promise.allSettled(parts.map(work));
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

/** Rows of many users, or of other keys that lead to a part, in no order; as {@link askAll} without those of a part that is away. */
export async function askOfEach<Id extends string, Row>(
  db: Db,
  ids: readonly Id[],
  ask: (part: Part, ids: readonly Id[]) => Promise<Row[]>,
): Promise<Row[]> {
  const asked = [...Map.groupBy(ids, (id) => db.of(id))].map(async ([part, some]) => {
    try {
      return await ask(part, some);
    } catch (error) {
      leaveOut(db.parts, part as OneDb, error);
      return [];
    }
  });
  return (await Promise.all(asked)).flat();
}

/** What is shown of one part beside others: undefined if that is left out. */
export async function ifThere<Answer>(db: Db, part: Part, asking: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asking;
  } catch (error) {
    leaveOut(db.parts, part as OneDb, error);
    return undefined;
  }
}

/** The sum of a number of each part. */
export const sumOfAll = async (db: Db, ask: (part: OneDb) => Promise<number>): Promise<number> =>
  (await askAll(db, ask)).reduce((sum, one) => sum + one, 0);

/**
 * The answer of the first part that has one: for what is in one of them, without anything that leads there. Found is what is there, also
 * while other parts are away; that there is none takes all of them, unless the work under way {@link showingWhatIsThere goes without}.
 */
export async function findIn<Answer>(
  parts: readonly OneDb[],
  ask: (part: OneDb) => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  const asked = await Promise.allSettled(parts.map(ask));
  for (const one of asked) if (one.status === 'fulfilled' && one.value !== undefined) return one.value;
  for (const [place, one] of asked.entries()) if (one.status === 'rejected') leaveOut(parts, parts[place]!, one.reason);
  return undefined;
}

export const findInAll = <Answer>(db: Db, ask: (part: OneDb) => Promise<Answer | undefined>) => findIn(db.parts, ask);

/** Whether it is so in one of them. */
export const isInSome = async (parts: readonly OneDb[], ask: (part: OneDb) => Promise<boolean>): Promise<boolean> =>
  (await findIn(parts, async (part) => (await ask(part)) || undefined)) === true;

/**
 * The first rows of a list over all parts.
 * @param ask its first `limit` rows in a part, sorted.
 * @param compare as for `sort`, and as the statement sorts: text by its bytes ({@link compareText}).
 */
export async function mergeAll<Row>(
  db: Db,
  ask: (part: OneDb) => Promise<Row[]>,
  compare: (one: Row, other: Row) => number,
  limit: number,
): Promise<Row[]> {
  const [first = [], ...others] = await askAll(db, ask);
  return others.length === 0 ? first : [first, ...others].flat().sort(compare).slice(0, limit);
}

/** By UTF-8, as `collate "C"` and SQLite sort. */
export const compareText = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Keys that are drawn at most to find one that leads to a server that answers. */
const mostDraws = 200;

/**
 * Makes a row under a new key: while the part that it leads to is away, one that leads to another server does as well.
 * @param make must change nothing that matters under a key that is not returned.
 */
export async function underNewKey<Key extends string>(
  db: Db,
  newKey: () => Key,
  make: (key: Key) => Promise<unknown>,
): Promise<Key> {
  const serverOf = (key: Key): unknown => {
    const part = db.of(key);
    return db.parts.find((one) => one === part)?.server?.();
  };
  const away = new Set<unknown>();
  let reason: unknown;
  for (let draws = 0; draws < mostDraws; draws += 1) {
    const key = newKey();
    const server = serverOf(key);
    if (away.has(server)) continue;
    try {
      await make(key);
      return key;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || db.parts.length === 1) throw error;
      reason = error;
      away.add(server);
    }
  }
  throw reason;
}
