import type { DeliveryId } from '../ids.ts';
import type { Db } from './db.ts';
import { id, integer, nullable, text, type ValuesOf } from './rows.ts';
import { inOneSlice } from './slices.ts';
import { raw, type Sql, sql } from './sql.ts';

// What every table of deliveries has in common. Each of them has a store of its own.

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
export type QueuedDelivery = ValuesOf<typeof deliveryFields>;

export const deliveryStates = ['waiting', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** Where a delivery stands. */
export function stateOf({ delivered_at, dead_at }: Pick<QueuedDelivery, 'delivered_at' | 'dead_at'>): DeliveryState {
  if (delivered_at !== null) return 'delivered';
  return dead_at === null ? 'waiting' : 'dead';
}

/** The condition that {@link stateOf} is that state. */
export const isInState: Readonly<Record<DeliveryState, Sql>> = {
  waiting: sql`delivered_at is null and dead_at is null`,
  delivered: sql`delivered_at is not null`,
  dead: sql`delivered_at is null and dead_at is not null`,
};

/** The statements on one of these tables. */
export function deliveryQueue(name: 'webhook_deliveries' | 'logout_deliveries') {
  const table = raw(name);
  const purge = (db: Db, condition: Sql, rows: number) =>
    db.run(sql`delete from ${table} where ${inOneSlice(name, 'delivery_id', condition, rows)}`);
  return {
    purge,
    purgeDelivered: (db: Db, before: number, rows: number) => purge(db, sql`delivered_at < ${before}`, rows),
    purgeDead: (db: Db, before: number, rows: number) => purge(db, sql`dead_at < ${before}`, rows),

    /**
     * Takes a delivery for this node: of several that try, the one that still finds it due and `attempts` as it was.
     * @param isOpen a condition on the receiver.
     */
    async claim(
      db: Db,
      delivery: QueuedDelivery,
      claim: { now: number; until: number },
      isOpen: Sql,
    ): Promise<boolean> {
      const { changes } = await db.run(
        sql`update ${table} set attempts = attempts + 1, next_attempt_at = ${claim.until}
             where delivery_id = ${delivery.delivery_id} and attempts = ${delivery.attempts}
               and next_attempt_at <= ${claim.now} and ${isOpen}`,
      );
      return changes === 1;
    },

    markDelivered: (db: Db, delivery_id: DeliveryId, now: number) =>
      db.run(
        sql`update ${table} set delivered_at = ${now}, next_attempt_at = null, last_error = null, dead_at = null
             where delivery_id = ${delivery_id}`,
      ),

    /** @param delivery as it was before it was claimed: a later attempt of another node stays as it is. */
    markFailed: (db: Db, delivery: QueuedDelivery, last_error: string, next_attempt_at: number) =>
      db.run(
        sql`update ${table} set last_error = ${last_error}, next_attempt_at = ${next_attempt_at}
             where delivery_id = ${delivery.delivery_id} and attempts = ${delivery.attempts + 1}
               and next_attempt_at is not null`,
      ),

    markDead: (delivery_id: DeliveryId, last_error: string, now: number): Sql =>
      sql`update ${table} set dead_at = ${now}, next_attempt_at = null, last_error = ${last_error}
           where delivery_id = ${delivery_id} and delivered_at is null`,

    /** Starts a dead delivery anew. */
    replay: (delivery_id: DeliveryId, now: number): Sql =>
      sql`update ${table} set dead_at = null, attempts = 0, next_attempt_at = ${now}
           where delivery_id = ${delivery_id} and dead_at is not null`,
  };
}
