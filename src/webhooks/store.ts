import { type Condition, insertIf } from '../audit/store.ts';
import type { Db, Statement } from '../platform/db/db.ts';
import { atMostOneSlice } from '../platform/db/slices.ts';

export type Webhook = {
  webhook_id: string;
  url: string;
  /** JSON list. */
  event_types: string;
  secret_sealed: string;
  created_at: number;
  disabled_at: number | null;
};

export type Delivery = {
  delivery_id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  payload: string;
  created_at: number;
  attempts: number;
  next_attempt_at: number | null;
  last_error: string | null;
  delivered_at: number | null;
  dead_at: number | null;
};

export const insertWebhook = (webhook: Omit<Webhook, 'disabled_at'>): Statement => ({
  sql: `insert into webhooks (webhook_id, url, event_types, secret_sealed, created_at) values ($1, $2, $3, $4, $5)`,
  params: [webhook.webhook_id, webhook.url, webhook.event_types, webhook.secret_sealed, webhook.created_at],
});

export const listWebhooks = (db: Db) =>
  db.all<Webhook>('select * from webhooks where deleted_at is null order by created_at, webhook_id');
export const findWebhook = (db: Db, webhook_id: string) =>
  db.get<Webhook>('select * from webhooks where webhook_id = $1 and deleted_at is null', [webhook_id]);

const fitsOneSlice = atMostOneSlice('webhook_deliveries', 'webhook_id');

/**
 * Its deliveries go with it, unless they are more than one statement may delete. Then the row stays for a while, off and
 * without its URL and secret, and a job deletes them.
 */
export const deleteWebhook = (webhook_id: string, now: number): Statement[] => [
  { sql: `delete from webhooks where webhook_id = $1 and ${fitsOneSlice}`, params: [webhook_id] },
  {
    sql: `update webhooks set url = '', secret_sealed = '', disabled_at = $2, deleted_at = $2 where webhook_id = $1`,
    params: [webhook_id, now],
  },
];

/** Webhooks whose deliveries are still to be deleted. */
export const deletedWebhooks = (db: Db) =>
  db.all<{ webhook_id: string }>(
    'select webhook_id from webhooks where deleted_at is not null order by deleted_at limit 1000',
  );

export const deleteDeliveriesOf = (db: Db, webhook_id: string, rows: number) =>
  db.run(
    `delete from webhook_deliveries where delivery_id in
       (select delivery_id from webhook_deliveries where webhook_id = $1 limit $2)`,
    [webhook_id, rows],
  );

/** The last row of one, unless another node has left more than one statement may delete. */
export const deleteDeletedWebhook = (db: Db, webhook_id: string) =>
  db.run(`delete from webhooks where webhook_id = $1 and deleted_at is not null and ${fitsOneSlice}`, [webhook_id]);

/** Of two batches that begin with it the second sees what the first one did. */
export const lockWebhook = (webhook_id: string): Statement => ({
  sql: 'update webhooks set url = url where webhook_id = $1',
  params: [webhook_id],
});
export const isWebhook = (webhook_id: string): Condition => ({
  sql: 'exists (select 1 from webhooks where webhook_id = $1 and deleted_at is null)',
  params: [webhook_id],
});

/** One delivery for each webhook that wants the type, once however often it is planned. */
export const planDeliveries = (
  event: { event_id: string; event_type: string; payload: string; delivery_id: string },
  now: number,
): Statement => ({
  sql: `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts,
                                        next_attempt_at)
        select $1 || '.' || w.webhook_id, w.webhook_id, $2, $3, $4, cast($5 as bigint), 0, cast($5 as bigint)
          from webhooks w where w.disabled_at is null and w.event_types like '%"' || $3 || '"%'
        on conflict (webhook_id, event_id) do nothing`,
  params: [event.delivery_id, event.event_id, event.event_type, event.payload, now],
});

export type DueDelivery = Delivery & Pick<Webhook, 'url' | 'secret_sealed'>;

/** Those that something is due for. */
export const dueWebhooks = (db: Db, now: number) =>
  db.all<{ webhook_id: string }>(
    `select webhook_id from webhooks w where disabled_at is null and exists
       (select 1 from webhook_deliveries d where d.webhook_id = w.webhook_id and d.next_attempt_at <= $1)`,
    [now],
  );

/** The most overdue first. */
export const dueDeliveries = (db: Db, webhook_id: string, now: number, limit: number) =>
  db.all<DueDelivery>(
    `select d.*, w.url, w.secret_sealed from webhook_deliveries d join webhooks w on w.webhook_id = d.webhook_id
      where d.webhook_id = $1 and d.next_attempt_at <= $2 and w.disabled_at is null order by d.next_attempt_at limit $3`,
    [webhook_id, now, limit],
  );

/** Takes a delivery for this node: of several that try, the one that still finds it due and `attempts` as it was. */
export async function claimDelivery(db: Db, delivery: Delivery, claim: { now: number; until: number }) {
  const { changes } = await db.run(
    `update webhook_deliveries set attempts = attempts + 1, next_attempt_at = $3
      where delivery_id = $1 and attempts = $2 and next_attempt_at <= $4
        and exists (select 1 from webhooks w where w.webhook_id = webhook_deliveries.webhook_id and w.disabled_at is null)`,
    [delivery.delivery_id, delivery.attempts, claim.until, claim.now],
  );
  return changes === 1;
}

export const markDelivered = (db: Db, delivery_id: string, now: number) =>
  db.run(
    `update webhook_deliveries set delivered_at = $2, next_attempt_at = null, last_error = null, dead_at = null
      where delivery_id = $1`,
    [delivery_id, now],
  );

/** @param delivery as it was before it was claimed: a later attempt of somebody else stays as it is. */
export const markFailed = (db: Db, delivery: Delivery, last_error: string, next_attempt_at: number) =>
  db.run(
    `update webhook_deliveries set last_error = $3, next_attempt_at = $4
      where delivery_id = $1 and attempts = $2 and next_attempt_at is not null`,
    [delivery.delivery_id, delivery.attempts + 1, last_error, next_attempt_at],
  );

export const markDead = (delivery_id: string, last_error: string, now: number): Statement => ({
  sql: `update webhook_deliveries set dead_at = $3, next_attempt_at = null, last_error = $2
         where delivery_id = $1 and delivered_at is null`,
  params: [delivery_id, last_error, now],
});

/** It is on, and nothing that came through has done so since then. */
export const hasOnlyFailed = (webhook_id: string, since: number): Condition => ({
  sql: `exists (select 1 from webhooks where webhook_id = $1 and disabled_at is null) and not exists
          (select 1 from webhook_deliveries where webhook_id = $1 and delivered_at >= $2)`,
  params: [webhook_id, since],
});

/** What happens meanwhile is not told later; what waits already goes on when it is switched on again. */
export const disableWebhook = (webhook_id: string, now: number, onlyIf: Condition): Statement => {
  const renumbered = insertIf({ sql: '', params: [webhook_id, now] }, onlyIf);
  const condition = renumbered.sql.replace(/^ where /, '');
  return {
    sql: `update webhooks set disabled_at = $2 where webhook_id = $1 and disabled_at is null and ${condition}`,
    params: renumbered.params,
  };
};

export const enableWebhook = (webhook_id: string): Statement => ({
  sql: 'update webhooks set disabled_at = null where webhook_id = $1 and deleted_at is null',
  params: [webhook_id],
});
export const isEnabled = (webhook_id: string): Condition => ({
  sql: 'exists (select 1 from webhooks where webhook_id = $1 and disabled_at is null)',
  params: [webhook_id],
});
export const isDisabled = (webhook_id: string): Condition => ({
  sql: 'exists (select 1 from webhooks where webhook_id = $1 and disabled_at is not null and deleted_at is null)',
  params: [webhook_id],
});

export const replaceSecret = (webhook_id: string, secret_sealed: string): Statement => ({
  sql: 'update webhooks set secret_sealed = $2 where webhook_id = $1',
  params: [webhook_id, secret_sealed],
});

/** One for this webhook alone. */
export const insertDelivery = (
  delivery: Pick<Delivery, 'delivery_id' | 'webhook_id' | 'event_id' | 'event_type' | 'payload'>,
  now: number,
): Statement => ({
  sql: `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts,
                                        next_attempt_at) values ($1, $2, $3, $4, $5, $6, 0, $6)`,
  params: [delivery.delivery_id, delivery.webhook_id, delivery.event_id, delivery.event_type, delivery.payload, now],
});

/** Begins anew with one that was given up. */
export const replayDelivery = (delivery_id: string, now: number): Statement => ({
  sql: `update webhook_deliveries set dead_at = null, attempts = 0, next_attempt_at = $2
         where delivery_id = $1 and dead_at is not null`,
  params: [delivery_id, now],
});

/** Begins anew with the oldest of those that were given up. @param most the others wait for another time. */
export const replayDeadDeliveries = (webhook_id: string, most: number, now: number): Statement => ({
  sql: `update webhook_deliveries set dead_at = null, attempts = 0, next_attempt_at = $3
         where dead_at is not null and delivery_id in
           (select delivery_id from webhook_deliveries where webhook_id = $1 and dead_at is not null
             order by created_at, delivery_id limit $2)`,
  params: [webhook_id, most, now],
});

/** Something for this webhook was given up. */
export const hasDead = (webhook_id: string): Condition => ({
  sql: 'exists (select 1 from webhook_deliveries where webhook_id = $1 and dead_at is not null)',
  params: [webhook_id],
});

export async function countDeadOf(db: Db, webhook_id: string): Promise<number> {
  const row = await db.get<{ dead: number }>(
    'select count(*) as dead from webhook_deliveries where webhook_id = $1 and dead_at is not null',
    [webhook_id],
  );
  return row?.dead ?? 0;
}

/** It was given up. */
export const isDead = (delivery_id: string): Condition => ({
  sql: 'exists (select 1 from webhook_deliveries where delivery_id = $1 and dead_at is not null)',
  params: [delivery_id],
});

export const findDelivery = (db: Db, webhook_id: string, delivery_id: string) =>
  db.get<Delivery>('select * from webhook_deliveries where webhook_id = $1 and delivery_id = $2', [
    webhook_id,
    delivery_id,
  ]);

/** What is to become of a delivery, and what has. */
export type DeliveryState = 'waiting' | 'delivered' | 'dead';
/** Where a page of deliveries ended. */
export type DeliveryPlace = Pick<Delivery, 'created_at' | 'delivery_id'>;

const isIn: Readonly<Record<DeliveryState, string>> = {
  waiting: 'delivered_at is null and dead_at is null',
  delivered: 'delivered_at is not null',
  dead: 'delivered_at is null and dead_at is not null',
};

/** Newest first. @param search.state all without it. */
export const listDeliveries = (
  db: Db,
  webhook_id: string,
  limit: number,
  { state, after }: { state?: DeliveryState; after?: DeliveryPlace } = {},
) =>
  db.all<Delivery>(
    `select * from webhook_deliveries
      where webhook_id = $1 and (created_at, delivery_id) < (cast($2 as bigint), $3) ${state ? `and ${isIn[state]}` : ''}
      order by created_at desc, delivery_id desc limit $4`,
    [webhook_id, after?.created_at ?? Number.MAX_SAFE_INTEGER, after?.delivery_id ?? '', limit],
  );

const purge = (db: Db, condition: string, before: number, rows: number) =>
  db.run(
    `delete from webhook_deliveries where delivery_id in
       (select delivery_id from webhook_deliveries where ${condition} limit $2)`,
    [before, rows],
  );

/** What arrived. */
export const purgeDelivered = (db: Db, before: number, rows: number) => purge(db, 'delivered_at < $1', before, rows);

/** What was given up. */
export const purgeDead = (db: Db, before: number, rows: number) => purge(db, 'dead_at < $1', before, rows);

/** What waits for a webhook that nobody has switched on again. */
export const purgeUndeliverable = (db: Db, before: number, rows: number) =>
  purge(
    db,
    'next_attempt_at < $1 and webhook_id in (select webhook_id from webhooks where disabled_at is not null)',
    before,
    rows,
  );

/** How many were given up, by webhook; those without any are left out. */
export async function countDeadDeliveries(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db.all<{ webhook_id: string; dead: number }>(
    `select webhook_id, count(*) as dead from webhook_deliveries
      where dead_at is not null and webhook_id in (select webhook_id from webhooks where deleted_at is null)
      group by webhook_id`,
  );
  return new Map(rows.map(({ webhook_id, dead }) => [webhook_id, dead]));
}
