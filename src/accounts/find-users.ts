import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { ifThere } from '../platform/db/parts.ts';
import { cutPage, decodeCursor, encodeCursor, inSlices, unknownCursor } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import { completedAtOnce, decodePlace, encodePlace } from '../platform/db/term-search.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { rangesOf } from '../platform/search-terms.ts';
import { type AddressDeps, findUserByEmail, partOfEmail } from './addresses.store.ts';
import {
  countUsers as countLists,
  filterCondition,
  fulfils,
  listUsers,
  placeInList,
  type UserCounts,
  type UserFilter,
  type UserOrder,
} from './lists.store.ts';
import { usersWithTerms } from './search.store.ts';
import { completeTerms, findUser, someTermsAreMissing, type User, usersWithMissingTerms } from './store.ts';

type FoundUsers = {
  users: User[];
  next: string | undefined;
  /** False while some users are found by nothing but their full address or their id: {@link completeMissingTerms}. */
  complete: boolean;
};

/** Without a sign-in for so long, a user is stale. */
const staleSeconds = 90 * 86_400;

export type UserSearch = {
  query?: string;
  filter?: UserFilter;
  /** Only with neither of them, which have orders of their own. */
  order?: UserOrder;
  /** `next` of the previous page. */
  after?: string;
  /** 1 to 500. */
  limit?: number;
};

/**
 * Finds users by the beginnings of words of their address, name or handle, or by their id: in the order of what was found.
 * Without a query all users or those of a filter.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function findUsers(deps: StoreDeps & AddressDeps, search: UserSearch): Promise<FoundUsers> {
  const { db } = deps;
  const { query = '', filter, order, after, limit = 50 } = search;
  const typed = query.trim();
  const cursor = decodeCursor('after', after);
  const staleBefore = now(deps) - staleSeconds;
  if (typed === '') {
    const place = cursor && { at: cursor.at, user_id: cursor.id };
    const found = await listUsers(db, { filter, order, after: place, limit: limit + 1, staleBefore });
    const key = placeInList({ filter, order });
    const { rows, next } = cutPage(found, limit, (last) => ({ at: last[key], id: last.user_id }));
    return { users: rows, next, complete: true };
  }
  const isListed = filterCondition(filter, staleBefore);
  const ranges = rangesOf(typed);
  const place = cursor && placeOf(cursor.id);
  if (place && !ranges.some(({ from }) => place.term.startsWith(from))) throw unknownCursor('after');
  const [exact, found, isMissing] = await Promise.all([
    place ? undefined : ifThere(db, partOfTyped(deps, typed), findExactly(deps, typed, isListed)),
    usersWithTerms(db, { ranges, after: place, limit, isListed }),
    someTermsAreMissing(db),
  ]);
  const others = found.users.filter(({ user_id }) => user_id !== exact?.user_id);
  const next = found.next && encodeCursor({ at: 0, id: encodePlace(found.next.term, found.next.id) });
  return { users: exact ? [exact, ...others] : others, next, complete: !isMissing };
}

/** Larger numbers are all alike, so that counting takes the same time in any store. */
export const countedUsersAtMost = 5000;

/** How many users there are, and how many each filter has; one more than {@link countedUsersAtMost} for any number above. */
export const countUsers = (deps: StoreDeps): Promise<UserCounts> =>
  countLists(deps.db, now(deps) - staleSeconds, countedUsersAtMost + 1);

const partOfTyped = (deps: AddressDeps, typed: string): Part =>
  typed.includes('@') ? partOfEmail(deps, typed) : deps.db.of(typed);

async function findExactly(deps: AddressDeps, typed: string, isListed: Sql): Promise<User | undefined> {
  const user = await (typed.includes('@') ? findUserByEmail(deps, typed) : findUser(deps.db, typed));
  return user && (await fulfils(deps.db, user.user_id, isListed)) ? user : undefined;
}

function placeOf(text: string) {
  const [term, id = ''] = decodePlace(text);
  return { term, id };
}

/**
 * Makes users known to the search who are not in it yet, since an earlier version has written them. Safe on every node at
 * any time; after a crash the next run continues.
 * @returns false if the signal ended it before all was done.
 */
export function completeMissingTerms({ db: part }: { db: Part }, signal?: AbortSignal): Promise<boolean> {
  return inSlices(
    async (count) => {
      const users = await usersWithMissingTerms(part, count);
      await Promise.all(users.map((user) => completeTerms(part, user)));
      return users.length;
    },
    signal,
    completedAtOnce,
  );
}
