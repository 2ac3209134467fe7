import type { TermRange } from '../search-terms.ts';
import type { Part } from './db.ts';
import { id, integer, type RowOf, row, text } from './rows.ts';
import { asBigint, join, raw, type Sql, sql } from './sql.ts';

// Tables of terms by which something is found (decision 28). Their stores write them; what is read of them is alike.

/** Its primary key begins with the term and this key, and an index with the key and the term. */
export type TermTable = { readonly table: Sql; readonly key: Sql };
export const termTable = (table: string, key: string): TermTable => ({ table: raw(table), key: raw(key) });

/** Terms of each word that are counted to find the rarest one. */
const maxCounted = 5000;

/** Of what a job makes known to a search: each is a change by itself, and requests have some to make meanwhile. */
export const completedAtOnce = 20;

/** Rows of one `insert` are repeated up to a multiple of it: there are not as many statements as numbers of terms. */
const rowsInStep = 4;

/** @param into a table of terms with its columns. */
export function insertTermRows(into: Sql, rows: readonly Sql[]): Sql[] {
  const last = rows.at(-1);
  if (last === undefined) return [];
  const repeated = Array.from({ length: (rowsInStep - (rows.length % rowsInStep)) % rowsInStep }, () => last);
  return [sql`insert into ${into} values ${join([...rows, ...repeated])} on conflict do nothing`];
}

const startsWith = ({ from, to }: TermRange): Sql => sql`term >= ${from} and term < ${to}`;

const Frequency = row('terms', { word: integer, found: integer });

/** The range with the fewest terms in all of the tables. */
export async function rarestOf(
  part: Part,
  tables: readonly TermTable[],
  ranges: readonly TermRange[],
): Promise<TermRange | undefined> {
  if (ranges.length < 2) return ranges[0];
  const counts = ranges.flatMap((range, word) =>
    tables.map(
      ({ table }) => sql`select ${asBigint(word)} as word, count(*) as found
          from (select 1 as one from ${table} where ${startsWith(range)} order by term limit ${maxCounted}) as few`,
    ),
  );
  const found = ranges.map(() => 0);
  for (const one of await part.all(Frequency, join(counts, ' union all '))) found[one.word]! += one.found;
  return ranges[found.indexOf(Math.min(...found))];
}

export const Place = row('terms', { term: text, id: id<string>() });
/** Where something stands in the order of the terms that begin with a word. */
export type Place = RowOf<typeof Place>;

/** The places of a range in their order. @param comparison `>=` where a page may end in the middle of what one place stands for. */
export const placesOf = (
  { table, key }: TermTable,
  { range, after, comparison = '>' }: { range: TermRange; after: Place | undefined; comparison?: '>' | '>=' },
): Sql =>
  sql`select term, ${key} as id from ${table}
       where (term, ${key}) ${raw(comparison)} (${after?.term ?? range.from}, ${after?.id ?? ''}) and term < ${range.to}
       group by term, ${key} order by term, ${key}`;

/** The first term that something has in a range; null for none. Not `exists`, for which PostgreSQL reads the whole range. */
export const firstTermOf = ({ table, key }: TermTable, of: Sql, range: TermRange): Sql =>
  sql`(select min(term) from ${table} where ${key} = ${of} and ${startsWith(range)})`;

/** The text of a place in a cursor: the term, and the ids that follow it. */
export const encodePlace = (term: string, ...ids: readonly string[]): string =>
  [Buffer.from(term).toString('base64url'), ...ids].join('.');

export function decodePlace(text: string): [term: string, ...ids: string[]] {
  const [term = '', ...ids] = text.split('.');
  return [Buffer.from(term, 'base64url').toString(), ...ids];
}
