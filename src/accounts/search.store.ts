import type { Db } from '../platform/db/db.ts';
import { id, integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { allOf, asBigint, join, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import type { UserId } from '../platform/ids.ts';
import type { TermRange } from '../platform/search-terms.ts';
import { User } from './store.ts';

/** Terms of the rarest word that one search reads, and those of each word that are counted to find it. */
const maxCandidates = 500;
const maxCounted = 5000;

const Place = row('user_terms', { term: text, user_id: id<UserId>() });
/** Of a user in the order of the terms that begin with a word. */
export type Place = RowOf<typeof Place>;

const FoundUser = row('user_terms join users', { term: text, ...User.fields });

const UserName = User.pick('user_id', 'name', 'email');

/** Users who are not deleted. */
export const namesOfUsers = (db: Db, user_ids: readonly string[]) =>
  db.all(
    UserName,
    sql`select ${UserName.columns} from users where user_id in ${oneOf(user_ids)} and deleted_at is null`,
  );

const startsWith = ({ from, to }: TermRange): Sql => sql`term >= ${from} and term < ${to}`;

const Frequency = row('user_terms', { word: integer, found: integer });

/** The range with the fewest terms. */
async function rarestOf(db: Db, ranges: readonly TermRange[]): Promise<TermRange | undefined> {
  if (ranges.length < 2) return ranges[0];
  const counts = ranges.map(
    (range, word) => sql`select ${asBigint(word)} as word, count(*) as found
        from (select 1 as one from user_terms where ${startsWith(range)} order by term limit ${maxCounted}) as few`,
  );
  const frequencies = await db.all(Frequency, join(counts, ' union all '));
  const [rarest] = frequencies.sort((one, other) => one.found - other.found);
  return rarest && ranges[rarest.word];
}

/**
 * Users who have a term in every range, in the order of their first term in the rarest one. A search reads a bounded number
 * of terms, so a page may have fewer users than its limit, even none, and yet not be the last one.
 * @param ranges no two of them overlap.
 * @param after where the page before ended, in one of the ranges.
 */
export async function usersWithTerms(
  db: Db,
  { ranges, after, limit }: { ranges: readonly TermRange[]; after: Place | undefined; limit: number },
): Promise<{ users: User[]; next: Place | undefined }> {
  const range = after ? ranges.find(({ from }) => after.term.startsWith(from)) : await rarestOf(db, ranges);
  if (range === undefined) return { users: [], next: undefined };
  const places = sql`select term, user_id from user_terms
      where (term, user_id) > (${after?.term ?? range.from}, ${after?.user_id ?? ''}) and term < ${range.to}
      group by term, user_id order by term, user_id`;
  // Not `exists`, which PostgreSQL would answer by reading all terms of the range.
  const firstIn = (one: TermRange) =>
    sql`(select min(term) from user_terms where user_id = c.user_id and ${startsWith(one)})`;
  const hasOthers = allOf(ranges.filter((one) => one !== range).map((one) => sql`${firstIn(one)} is not null`));
  const found = await db.all(
    FoundUser,
    sql`select c.term, ${User.columnsOf('u')}
          from (${places} limit ${maxCandidates}) c join users u on u.user_id = c.user_id
         where u.deleted_at is null and c.term = ${firstIn(range)} and ${hasOthers}
         order by c.term, c.user_id limit ${limit + 1}`,
  );
  const users = found.slice(0, limit);
  if (found.length > limit) return { users, next: users.at(-1) };
  return { users, next: await db.get(Place, sql`${places} limit 1 offset ${maxCandidates - 1}`) };
}
