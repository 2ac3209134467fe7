import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { cutPage, decodeCursor } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { digest } from '../platform/ids.ts';
import { addressKey } from '../platform/ip-address.ts';
import {
  countUnauthenticated,
  rowsOfNextHour,
  rowsSinceHour,
  searchUnauthenticated,
  type UnauthenticatedRow,
} from './unauthenticated.store.ts';

/** Why a sign-in was refused. Administrators read a sentence for each. */
export const refusalReasons = [
  'wrong_password',
  'wrong_mail_code',
  'account_disabled',
  'passkey_refused',
  'auth_time_missing',
  'email_of_other_identity',
  'email_spelled_otherwise',
  'email_taken',
  'email_unverified_here',
  'email_unverified_upstream',
  'linked_already',
  'linked_elsewhere',
  'not_asked_again',
  'other_identity',
  'session_changed',
  'sign_up_off',
  'state_unknown',
  'state_used',
  'upstream_failed',
  'user_disabled',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** An event caused without authentication. `target` is the account that it is about, if there is one. */
type UnauthenticatedEvent = {
  action: 'session.refused' | 'sign_up.asked' | 'password.reset_asked' | 'sign_in.code_asked';
  reason?: RefusalReason;
  target?: string;
  /** Never typed text: people type passwords into the wrong field. */
  detail?: Readonly<Record<string, unknown>>;
  address: string;
};

export const hourSeconds = 3600;
/** An IPv6 address with its zone is shorter; a forwarded address may be any text. */
const longestAddress = 64;

/**
 * Counts an event that anyone can cause any number of times. It does not go into the audit log, where every row stays for
 * ever: events with the same action, reason, account, detail and address within an hour are one row that counts. When an
 * hour has as many rows as the limit allows, further ones are counted in one more row for each action. A part of the store has its
 * share of the limit.
 */
export function unauthenticatedEvent(deps: Pick<Deps, 'db' | 'clock' | 'config'>, event: UnauthenticatedEvent): Sql[] {
  const at = now(deps);
  const hour = at - (at % hourSeconds);
  const { action, reason = null, target = null, detail = null } = event;
  const address = event.address.slice(0, longestAddress);
  const event_key = digest(
    JSON.stringify([hour, action, reason, target, detail && JSON.stringify(detail), addressKey(address)]),
  );
  const rest = { reason: overflowReason, target: null, detail: null, address: null };
  return countUnauthenticated(
    { event_key, hour, action, reason, target, detail, address },
    { event_key: digest(JSON.stringify([hour, action])), hour, action, ...rest },
    at,
    Math.ceil(deps.config.limits.unauthenticatedEventsPerHour / deps.db.parts.length),
  );
}

/** Of a row that counts events beyond the rows of its hour. */
export const overflowReason = 'more';

/** `count` events, the first and the last of them at these times. */
export type UnauthenticatedRecord = Omit<UnauthenticatedRow, 'event_key' | 'hour'>;

export type UnauthenticatedList = {
  events: UnauthenticatedRecord[];
  /** For `before`; undefined on the last page. */
  next: string | undefined;
};

/**
 * Newest first.
 * @param search.target the id of an account; all without it, or if it is empty.
 * @param search.address as it is listed; the same.
 * @param search.before the `next` of the page before.
 * @param search.limit 1 to 500.
 * @throws {RequestError} `invalid_request` for a `before` that no page has given.
 */
export async function listUnauthenticated(
  { db }: Pick<Deps, 'db'>,
  { target, address, before, limit }: { target?: string; address?: string; before?: string; limit: number },
): Promise<UnauthenticatedList> {
  const place = decodeCursor('before', before);
  const from = place && { first_at: place.at, event_key: place.id };
  const found = await searchUnauthenticated(db, {
    target: target || undefined,
    address: address || undefined,
    before: from,
    limit: limit + 1,
  });
  const { rows, next } = cutPage(found, limit, (last) => ({ at: last.first_at, id: last.event_key }));
  return { events: rows.map(({ event_key: _, hour: __, ...row }) => row), next };
}

const refusedIn = (rows: readonly Pick<UnauthenticatedRow, 'action' | 'count'>[]): number =>
  rows.reduce((sum, { action, count }) => (action === 'session.refused' ? sum + count : sum), 0);

/** Refused sign-ins in the hours from this one on. @param hour Unix seconds. */
export const refusedSince = async (part: Part, hour: number): Promise<number> =>
  refusedIn(await rowsSinceHour(part, hour));

/** The next hour that has events, and how many sign-ins were refused in it. */
export async function hourAfter(part: Part, from: number, until: number) {
  const rows = await rowsOfNextHour(part, from, until);
  const [first] = rows;
  return first && { hour: first.hour, refused: refusedIn(rows) };
}
