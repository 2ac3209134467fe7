import type { Db, Part } from '../platform/db/db.ts';
import { askAll, compareText, mergeAll, sumOfAll } from '../platform/db/parts.ts';
import { isBeyondPauses } from '../platform/db/planned.ts';
import { type Fields, id, integer, nullable, type RowSchema, row, text, type ValuesOf } from '../platform/db/rows.ts';
import { cutPage, decodeCursor, inOneSlice, maxCounted } from '../platform/db/slices.ts';
import { asBigint, oneOf, raw, type Sql, sql } from '../platform/db/sql.ts';
import type { DeliveryId } from '../platform/ids.ts';
import { longestPause } from './schedule.ts';

// What every table of deliveries has in common. Each of them has a store of its own.

/** Labels in metrics, and words in traces and the log. */
export type DeliveryKindName = 'webhook' | 'logout' | 'signal';

/** Times are Unix seconds. */
export const deliveryFields = {
  delivery_id: id<DeliveryId>(),
  created_at: integer,
  attempts: integer,
  next_attempt_at: nullable(integer),
  last_error: nullable(text),
  delivered_at: nullable(integer),
  dead_at: nullable(integer),
};
type DeliveryFields = typeof deliveryFields;
export type QueuedDelivery = ValuesOf<DeliveryFields>;

export const deliveryStates = ['waiting', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** A delivery in one of these is not tried by itself any more. */
export type EndState = Exclude<DeliveryState, 'waiting'>;

/** Where a delivery stands. One that is sent again waits, and still says when it was delivered or given up before. */
export function stateOf({
  next_attempt_at,
  dead_at,
}: Pick<QueuedDelivery, 'next_attempt_at' | 'dead_at'>): DeliveryState {
  if (next_attempt_at !== null) return 'waiting';
  return dead_at === null ? 'delivered' : 'dead';
}

/** Whether its attempts are not its first ones: it had ended, and was asked for again. */
export const isResent = ({ delivered_at, dead_at }: Pick<QueuedDelivery, 'delivered_at' | 'dead_at'>): boolean =>
  delivered_at !== null || dead_at !== null;

/** {@link stateOf} in the store, spelled as in the indexes of both tables. */
const state = sql`case when next_attempt_at is not null then 'waiting' when dead_at is null then 'delivered' else 'dead' end`;

export const isInState = (wanted: DeliveryState): Sql => sql`${state} = ${wanted}`;

const Backlog = row('a queue of deliveries', { waiting: integer });

const Counts = row('deliveries of a receiver', { waiting: integer, delivered: integer, dead: integer });

/** Larger numbers are all alike: one more than this. */
export const deliveriesCountedAtMost = 500;
export type DeliveryCounts = Readonly<Record<DeliveryState, number>>;

const newestFirst = (one: QueuedDelivery, other: QueuedDelivery): number =>
  other.created_at - one.created_at || compareText(other.delivery_id, one.delivery_id);

export type DeliverySearch = {
  /** All without it. */
  state?: DeliveryState;
  /** `next` of the previous page. */
  after?: string;
  limit?: number;
};
export type ListedDelivery = QueuedDelivery & { state: DeliveryState };
export type DeliveryPage<Delivery = ListedDelivery> = { deliveries: Delivery[]; next: string | null };

export type DeliveryQueue = Pick<
  ReturnType<typeof deliveryQueue<DeliveryFields>>,
  | 'find'
  | 'replay'
  | 'backlog'
  | 'purgeDelivered'
  | 'purgeDead'
  | 'purgeUndeliverable'
  | 'bringForward'
  | 'longestPause'
>;

/**
 * The statements on one of these tables.
 * @param receiver the column that says who receives a delivery.
 * @param of.undeliverable an end of a condition: waiting deliveries that no attempt is made for any more.
 * @param of.everyReceiver a condition that is true of all, with which the index for due deliveries begins.
 */
export function deliveryQueue<Columns extends DeliveryFields & Fields>(
  name: 'webhook_deliveries' | 'logout_deliveries' | 'signal_deliveries',
  receiver: string & keyof Columns,
  Delivery: RowSchema<Columns>,
  of: { undeliverable: Sql; everyReceiver: Sql },
) {
  const table = raw(name);
  const isOf = (receiver_id: string) => sql`${raw(receiver)} = ${receiver_id}`;
  const purge = (part: Part, condition: Sql, rows: number) =>
    part.run(sql`delete from ${table} where ${inOneSlice(name, 'delivery_id', condition, rows)}`);
  return {
    find: (part: Part, receiver_id: string, delivery_id: string) =>
      part.get(
        Delivery,
        sql`select ${Delivery.columns} from ${table} where ${isOf(receiver_id)} and delivery_id = ${delivery_id}`,
      ),

    /**
     * Newest first, a page at a time.
     * @throws {RequestError} `invalid_request` for an `after` that no page has given.
     */
    async page(db: Db, receiver_id: string, { state: wanted, after, limit = 50 }: DeliverySearch = {}) {
      const place = decodeCursor('after', after);
      const statement = sql`select ${Delivery.columns} from ${table}
             where ${isOf(receiver_id)} ${wanted ? sql`and ${isInState(wanted)}` : sql``}
               and (created_at, delivery_id) < (${asBigint(place?.at ?? Number.MAX_SAFE_INTEGER)}, ${place?.id ?? ''})
             order by created_at desc, delivery_id desc limit ${limit + 1}`;
      const found = await mergeAll(db, (part) => part.all(Delivery, statement), newestFirst, limit + 1);
      const cut = cutPage(found, limit, ({ created_at: at, delivery_id }) => ({ at, id: delivery_id }));
      return { deliveries: cut.rows.map((one) => ({ ...one, state: stateOf(one) })), next: cut.next ?? null };
    },

    /** How many of a receiver are in each state, up to one more than {@link deliveriesCountedAtMost}. */
    async counts(db: Db, receiver_id: string): Promise<DeliveryCounts> {
      const most = deliveriesCountedAtMost + 1;
      const count = (wanted: DeliveryState) =>
        sql`(select count(*) from (select 1 as one from ${table}
              where ${isOf(receiver_id)} and ${isInState(wanted)} limit ${most}) as few) as ${raw(wanted)}`;
      const statement = sql`select ${count('waiting')}, ${count('delivered')}, ${count('dead')}`;
      const found = await askAll(db, (part) => part.get(Counts, statement));
      const sum = (wanted: DeliveryState) => found.reduce((all, one) => all + (one?.[wanted] ?? 0), 0);
      return { waiting: sum('waiting'), delivered: sum('delivered'), dead: sum('dead') };
    },

    /** How many wait, also for another attempt, up to {@link maxCounted}. */
    async backlog(db: Db): Promise<number> {
      const waiting = sql`select 1 as one from ${table} where next_attempt_at is not null limit ${maxCounted}`;
      const counted = sql`select count(*) as waiting from (${waiting}) as part`;
      return Math.min(await sumOfAll(db, async (part) => (await part.get(Backlog, counted))?.waiting ?? 0), maxCounted);
    },

    purgeDelivered: (part: Part, before: number, rows: number) =>
      purge(part, sql`delivered_at < ${before} and ${isInState('delivered')}`, rows),
    purgeDead: (part: Part, before: number, rows: number) =>
      purge(part, sql`dead_at < ${before} and ${isInState('dead')}`, rows),
    purgeUndeliverable: (part: Part, before: number, rows: number) =>
      purge(part, sql`next_attempt_at < ${before} ${of.undeliverable}`, rows),

    /** Makes due what a clock that was ahead has planned. */
    longestPause,
    bringForward(part: Part, at: { now: number; longestPause: number }, rows: number) {
      const isPlannedAhead = isBeyondPauses(sql`next_attempt_at`, at);
      const some = inOneSlice(name, 'delivery_id', sql`${of.everyReceiver} and ${isPlannedAhead}`, rows);
      return part.run(sql`update ${table} set next_attempt_at = ${at.now} where ${some}`);
    },

    /**
     * Takes a delivery for this node: of several that try, the one that still finds it due and `attempts` as it was.
     * @param isOpen a condition on the receiver.
     */
    async claim(
      part: Part,
      delivery: QueuedDelivery,
      claim: { now: number; until: number },
      isOpen: Sql,
    ): Promise<boolean> {
      const { changes } = await part.run(
        sql`update ${table} set attempts = attempts + 1, next_attempt_at = ${claim.until}
             where delivery_id = ${delivery.delivery_id} and attempts = ${delivery.attempts}
               and next_attempt_at <= ${claim.now} and ${isOpen}`,
      );
      return changes === 1;
    },

    /** @param more what this table alone keeps of an attempt: `, column = …`; also below. */
    markDelivered: (part: Part, delivery_id: DeliveryId, now: number, more = sql``) =>
      part.run(
        sql`update ${table} set delivered_at = ${now}, next_attempt_at = null, last_error = null, dead_at = null${more}
             where delivery_id = ${delivery_id}`,
      ),

    /** @param delivery as it was before it was claimed: a later attempt of another node stays as it is. */
    markFailed: (part: Part, delivery: QueuedDelivery, last_error: string, next_attempt_at: number, more = sql``) =>
      part.run(
        sql`update ${table} set last_error = ${last_error}, next_attempt_at = ${next_attempt_at}${more}
             where delivery_id = ${delivery.delivery_id} and attempts = ${delivery.attempts + 1}
               and next_attempt_at is not null`,
      ),

    markDead: (delivery_id: DeliveryId, last_error: string, now: number, more = sql``): Sql =>
      sql`update ${table} set dead_at = ${now}, next_attempt_at = null, last_error = ${last_error}${more}
           where delivery_id = ${delivery_id} and next_attempt_at is not null`,

    /**
     * Starts a delivery anew that has ended in one of these states, or tries one at once that waits after a failure; then its
     * attempts count on. What came of it before stays until the next end.
     */
    replay: (delivery_id: DeliveryId, from: readonly EndState[], now: number): Sql =>
      sql`update ${table}
             set attempts = case when next_attempt_at is null then 0 else attempts end, next_attempt_at = ${now}
           where delivery_id = ${delivery_id}
             and (${state} in ${oneOf(from)} or (next_attempt_at > ${now} and attempts > 0))`,
  };
}
