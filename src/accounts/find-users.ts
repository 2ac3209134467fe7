import type { Db } from '../platform/db/db.ts';
import { cutPage, decodeCursor, encodeCursor, inSlices, unknownCursor } from '../platform/db/slices.ts';
import { rangesOf } from '../platform/search-terms.ts';
import { type Place, usersWithTerms } from './search.store.ts';
import {
  completeTerms,
  findUser,
  findUserByEmail,
  listUsers,
  someTermsAreMissing,
  type User,
  usersWithMissingTerms,
} from './store.ts';

type FoundUsers = {
  users: User[];
  next: string | undefined;
  /** False while some users are found by nothing but their full address or their id: {@link completeMissingTerms}. */
  complete: boolean;
};

/**
 * Finds users by the beginnings of words of their address, name or handle, or by their id: in the order of what was found.
 * Without a query all users, newest first.
 * @param search.after `next` of the previous page.
 * @param search.limit 1 to 500.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function findUsers(
  { db }: { db: Db },
  { query = '', after, limit = 50 }: { query?: string; after?: string; limit?: number },
): Promise<FoundUsers> {
  const typed = query.trim();
  const cursor = decodeCursor('after', after);
  if (typed === '') {
    const place = cursor && { created_at: cursor.at, user_id: cursor.id };
    const found = await listUsers(db, place, limit + 1);
    const { rows, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.user_id }));
    return { users: rows, next, complete: true };
  }
  const ranges = rangesOf(typed);
  const place = cursor && placeOf(cursor.id);
  if (place && !ranges.some(({ from }) => place.term.startsWith(from))) throw unknownCursor('after');
  const [exact, found, isMissing] = await Promise.all([
    place ? undefined : findExactly(db, typed),
    usersWithTerms(db, { ranges, after: place, limit }),
    someTermsAreMissing(db),
  ]);
  const others = found.users.filter(({ user_id }) => user_id !== exact?.user_id);
  const next = found.next && encodeCursor({ at: 0, id: idOf(found.next) });
  return { users: exact ? [exact, ...others] : others, next, complete: !isMissing };
}

const findExactly = (db: Db, typed: string) => (typed.includes('@') ? findUserByEmail(db, typed) : findUser(db, typed));

const idOf = ({ term, user_id }: Place): string => `${Buffer.from(term).toString('base64url')}.${user_id}`;
function placeOf(id: string): Place {
  const [term = '', user_id = ''] = id.split('.', 2);
  return { term: Buffer.from(term, 'base64url').toString(), user_id };
}

/** What one takes in the search, roughly. */
const rowsOfUser = 5;

/**
 * Makes users known to the search who are not in it yet, since an earlier version has written them. Safe on every node at
 * any time; after a crash the next run continues.
 */
export async function completeMissingTerms({ db }: { db: Db }, signal?: AbortSignal): Promise<void> {
  await inSlices(async (rows) => {
    const users = await usersWithMissingTerms(db, Math.ceil(rows / rowsOfUser));
    await Promise.all(users.map((user) => completeTerms(db, user)));
    return users.length * rowsOfUser;
  }, signal);
}
