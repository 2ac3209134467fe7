import { now } from '../platform/clock.ts';
import { compareText } from '../platform/db/parts.ts';
import { unknownCursor } from '../platform/db/slices.ts';
import type { AuditAction } from './actions.ts';
import { searchUnsealedOfUser } from './activity.store.ts';
import { readChain } from './all-chains.ts';
import type { Deps } from './deps.ts';
import type { AuditRow } from './store.ts';
import { searchUnauthenticated, type UnauthenticatedRow } from './unauthenticated.store.ts';

/** How far back people see what happened with their account, in days. */
export const activityDays = 90;

/** `count` events like this one within an hour, the first of them at `at`, in Unix seconds. */
export type ActivityEvent = {
  at: number;
  action: string;
  actor: string | null;
  target: string | null;
  after: unknown;
  before: unknown;
  address: string | null;
  count: number;
};

export type ActivityQuery = {
  user_id: string;
  /** Of the audit log. */
  actions: readonly AuditAction[];
  /** Whether what anyone can cause without signing in is wanted, too: refused sign-ins, and links and codes that were asked for. */
  unauthenticated: boolean;
  /** What is known of the account beside the log: the newest before a place, up to `limit`. */
  beside?: ((before: BesidePlace | undefined, limit: number) => Promise<readonly BesideEvent[]>) | undefined;
  /** Up to {@link activityDays}. */
  days: number;
  /** The `next` of the page before. */
  before?: string | undefined;
  /** 1 to 500. */
  limit: number;
};

/** In the order of these two, as texts; `event_key` is of letters, digits, `-` and `_`. */
type BesidePlace = { first_at: number; event_key: string };
type BesideEvent = BesidePlace & Omit<ActivityEvent, 'at'>;

/** Where a page ended in the log, as a `seq`, and among what is counted. Before it is what the next one has. */
type Place = { seq: number | undefined; counted: BesidePlace | undefined };

/** Nothing is before it. */
const over: { seq: number; counted: NonNullable<Place['counted']> } = {
  seq: 1,
  counted: { first_at: 0, event_key: '' },
};

const placeText = /^([1-9]\d{0,14})\.(\d{1,12})-([\w-]{0,64})$/;
/** Characters. */
export const longestPlace = 96;

function placeIn(text: string | undefined): Place {
  if (text === undefined || text === '') return { seq: undefined, counted: undefined };
  const [, seq, first_at, event_key = ''] = placeText.exec(text) ?? [];
  if (seq === undefined) throw unknownCursor('before');
  return { seq: Number(seq), counted: { first_at: Number(first_at), event_key } };
}

/** Bounded reads of the log that a page makes to become full; then it says where to go on. */
const readsForPage = 10;

/**
 * What happened with an account, newest first: what its user did to it, and what others did. Of one part of the store, and what is counted
 * of all. A page may have fewer events than the limit, even none, and yet not be the last one.
 * @throws {RequestError} `invalid_request` for a `before` that no page has given.
 */
export async function readActivity(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { user_id, actions, unauthenticated, beside, days, before, limit }: ActivityQuery,
): Promise<{ events: ActivityEvent[]; next: string | undefined }> {
  const place = placeIn(before);
  const since = now({ clock }) - days * 86_400;
  const part = db.of(user_id);
  const filter = { account: user_id, actions, since };
  const unsealed = place.seq === undefined ? await searchUnsealedOfUser(part, filter, limit) : [];
  const [log, unauthenticatedRows, others] = await Promise.all([
    readChain(part, filter, place.seq, limit, readsForPage),
    unauthenticated
      ? searchUnauthenticated(db, { target: user_id, before: place.counted, limit: limit + 1 })
      : ([] as UnauthenticatedRow[]),
    beside?.(place.counted, limit + 1) ?? [],
  ]);
  const refused = unauthenticatedRows.map(countedEvent);
  // Alone they stay in the order of the database, by which the next page begins.
  const found =
    others.length === 0
      ? refused
      : [...refused, ...others].sort(
          (one, other) => other.first_at - one.first_at || compareText(other.event_key, one.event_key),
        );
  const counted = found.slice(0, limit + 1).filter(({ first_at }) => first_at >= since);
  const known = new Set(unsealed.map(({ event_id }) => event_id));
  const events = unsealed.map(loggedEvent);
  let [logs, counts] = [0, 0];
  while (unsealed.length + logs + counts < limit) {
    const [row, count] = [log.rows[logs], counted[counts]];
    // What the log has behind its last row may be newer than what is counted.
    if (row === undefined && (log.next !== undefined || count === undefined)) break;
    if (row !== undefined && (count === undefined || row.at >= count.first_at)) {
      if (!known.has(row.event_id)) events.push(loggedEvent(row)); // it was given its place between the two reads
      logs += 1;
    } else if (count !== undefined) {
      const { first_at: at, event_key: _, ...event } = count;
      events.push({ at, ...event });
      counts += 1;
    }
  }
  if (unsealed.length > 0) events.sort((one, other) => other.at - one.at);
  const isLogRead = logs === log.rows.length;
  if (isLogRead && log.next === undefined && counts === counted.length) return { events, next: undefined };
  const rowAhead = log.rows[logs];
  const seq = rowAhead ? rowAhead.seq + 1 : (log.next ?? over.seq);
  const lastCounted = counted[counts - 1] ?? place.counted;
  const { first_at, event_key } =
    counts === counted.length ? over.counted : (lastCounted ?? { first_at: 999_999_999_999, event_key: '' });
  return { events, next: `${seq}.${first_at}-${event_key}` };
}

const loggedEvent = ({ at, action, actor, target, before_state, after_state, address }: AuditRow): ActivityEvent => ({
  ...{ at, action, actor, target, address, count: 1 },
  before: before_state === null ? null : JSON.parse(before_state),
  after: after_state === null ? null : JSON.parse(after_state),
});

const countedEvent = ({ first_at, event_key, action, target, address, count }: UnauthenticatedRow): BesideEvent => ({
  ...{ first_at, event_key, action, actor: null, target, address, count },
  before: null,
  after: null,
});
