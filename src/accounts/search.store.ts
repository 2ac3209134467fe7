import type { Db } from '../platform/db/db.ts';
import { askAll, askOfEach, askOne, compareText } from '../platform/db/parts.ts';
import { row, text } from '../platform/db/rows.ts';
import { allOf, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { firstTermOf, Place, placesOf, rarestOf } from '../platform/db/term-search.ts';
import type { TermRange } from '../platform/search-terms.ts';
import { User } from './store.ts';
import { userTerms } from './terms.store.ts';

/** Terms of the rarest word that one search reads. */
const maxCandidates = 500;

const FoundUser = row('user_terms join users', { term: text, ...User.fields });

const UserName = User.pick('user_id', 'name', 'email');

/** Users who are not deleted. */
export const namesOfUsers = (db: Db, user_ids: readonly string[]) =>
  askOfEach(db, user_ids, (part, ids) =>
    part.all(
      UserName,
      sql`select ${UserName.columns} from users where user_id in ${oneOf(ids)} and deleted_at is null`,
    ),
  );

/**
 * Users who have a term in every range, in the order of their first term in the rarest one. A search reads a bounded number
 * of terms, so a page may have fewer users than its limit, even none, and yet not be the last one.
 * @param ranges no two of them overlap.
 * @param after where the page before ended, in one of the ranges.
 * @param isListed a condition on the row of a user.
 */
export async function usersWithTerms(
  db: Db,
  {
    ranges,
    after,
    limit,
    isListed,
  }: { ranges: readonly TermRange[]; after: Place | undefined; limit: number; isListed: Sql },
): Promise<{ users: User[]; next: Place | undefined }> {
  // Of the same word in every part, for one order. Users are spread evenly, so one part tells which word is rare.
  const range = after
    ? ranges.find(({ from }) => after.term.startsWith(from))
    : await askOne(db, (part) => rarestOf(part, [userTerms], ranges));
  if (range === undefined) return { users: [], next: undefined };
  const places = placesOf(userTerms, { range, after });
  const firstIn = (one: TermRange) => firstTermOf(userTerms, sql`c.id`, one);
  const hasOthers = allOf(ranges.filter((one) => one !== range).map((one) => sql`${firstIn(one)} is not null`));
  const search = sql`select c.term, ${User.columnsOf('u')}
          from (${places} limit ${maxCandidates}) c join users u on u.user_id = c.id
         where u.deleted_at is null and ${isListed} and c.term = ${firstIn(range)} and ${hasOthers}
         order by c.term, c.id limit ${limit + 1}`;
  const inParts = await askAll(db, async (part) => {
    const found = (await part.all(FoundUser, search)).map((user) => ({ user, term: user.term, id: user.user_id }));
    if (found.length > limit) return { found, end: undefined };
    return { found, end: await part.get(Place, sql`${places} limit 1 offset ${maxCandidates - 1}`) };
  });
  // What is behind the end of one part's candidates comes after others of that part.
  const [end] = inParts.flatMap((one) => one.end ?? []).sort(inOrderOfPlaces);
  const found = inParts
    .flatMap((one) => one.found)
    .filter((one) => end === undefined || inOrderOfPlaces(one, end) <= 0)
    .sort(inOrderOfPlaces);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const next = found.length > limit && last ? { term: last.term, id: last.id } : end;
  return { users: page.map(({ user }) => user), next };
}

const inOrderOfPlaces = (one: Place, other: Place): number =>
  compareText(one.term, other.term) || compareText(one.id, other.id);
