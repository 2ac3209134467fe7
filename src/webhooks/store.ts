import type { Answer } from '../deliveries/poster.ts';
import { deliveryFields, deliveryQueue, isInState } from '../deliveries/queue.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { askAll } from '../platform/db/parts.ts';
import { choice, id, integer, jsonTexts, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { fitsOneSlice, inOneSlice } from '../platform/db/slices.ts';
import { asBigint, asText, type Sql, sql } from '../platform/db/sql.ts';
import type { EventId, WebhookId } from '../platform/ids.ts';
import type { EventType } from './event-types.ts';

const Webhook = row('webhooks', {
  webhook_id: id<WebhookId>(),
  name: nullable(text),
  url: text,
  /** An older version may have known types that this one does not. */
  event_types: jsonTexts<EventType>(),
  created_at: integer,
  disabled_at: nullable(integer),
  /** `gone`: the receiver said that it is; `failing`: no delivery had succeeded for days. Null: an administrator did it. */
  disabled_reason: nullable(choice('gone', 'failing')),
  /** No delivery has succeeded since then; null while they do. */
  failing_since: nullable(integer),
});
export type Webhook = RowOf<typeof Webhook>;
const NewWebhook = row('webhooks', { ...Webhook.fields, secret_sealed: text });

const Delivery = row('webhook_deliveries', {
  ...deliveryFields,
  webhook_id: id<WebhookId>(),
  event_id: id<EventId>(),
  event_type: text,
  payload: text,
  /** What the latest attempt got. */
  response_status: nullable(integer),
  response_body: nullable(text),
  duration_ms: nullable(integer),
  /** The latest attempts, oldest first, as JSON: see `attempts.ts`. */
  attempt_log: nullable(text),
});
export type Delivery = RowOf<typeof Delivery>;
type NewDelivery = Pick<Delivery, 'delivery_id' | 'event_id' | 'event_type' | 'payload'>;

const DueDelivery = row('webhook_deliveries', {
  ...Delivery.fields,
  url: text,
  secret_sealed: text,
  failing_since: nullable(integer),
  previous_secret_sealed: nullable(text),
});
export type DueDelivery = RowOf<typeof DueDelivery>;

const WebhookOnly = Webhook.pick('webhook_id');

export const insertWebhook = (webhook: RowOf<typeof NewWebhook>): Sql =>
  sql`insert into webhooks ${NewWebhook.values(webhook)}`;

export const listWebhooks = (db: Db) =>
  db.shared.all(
    Webhook,
    sql`select ${Webhook.columns} from webhooks where deleted_at is null order by created_at, webhook_id`,
  );
export const findWebhook = (db: Db, webhook_id: WebhookId) =>
  db.shared.get(
    Webhook,
    sql`select ${Webhook.columns} from webhooks where webhook_id = ${webhook_id} and deleted_at is null`,
  );

const Sealed = NewWebhook.pick('secret_sealed');

export const sealedSecretOf = (db: Db, webhook_id: WebhookId) =>
  db.shared.get(
    Sealed,
    sql`select ${Sealed.columns} from webhooks where webhook_id = ${webhook_id} and deleted_at is null`,
  );

/** Its deliveries are no more than one statement may delete with its row, with which only those of one part go. */
export const isDeletableAtOnce = async (db: Db, webhook_id: WebhookId): Promise<boolean> =>
  db.parts.length === 1 && isDeletable(db, webhook_id);

const isDeletable = (db: Db, webhook_id: WebhookId): Promise<boolean> =>
  db.shared.holds(fitsOneSlice('webhook_deliveries', 'webhook_id', webhook_id));

/**
 * Its deliveries go with it, if `isAtOnce` says that they are few. Else the row stays for a while, disabled and without its URL
 * and secret, and a job deletes them.
 */
export const deleteWebhook = (webhook_id: WebhookId, isAtOnce: boolean, now: number): Sql[] => [
  ...(isAtOnce ? [sql`delete from webhooks where webhook_id = ${webhook_id}`] : []),
  sql`update webhooks set url = '', secret_sealed = '', previous_secret_sealed = null, disabled_at = ${now}, deleted_at = ${now}
       where webhook_id = ${webhook_id}`,
];

/** Webhooks whose deliveries are still to be deleted. */
export const deletedWebhooks = (db: Db) =>
  db.shared.all(
    WebhookOnly,
    sql`select webhook_id from webhooks where deleted_at is not null order by deleted_at limit 1000`,
  );

export const deleteDeliveriesOf = (part: Part, webhook_id: WebhookId, rows: number) =>
  part.run(
    sql`delete from webhook_deliveries
         where ${inOneSlice('webhook_deliveries', 'delivery_id', sql`webhook_id = ${webhook_id}`, rows)}`,
  );

/** The row of a deleted webhook, whose deliveries are deleted. */
export async function deleteDeletedWebhook(db: Db, webhook_id: WebhookId): Promise<void> {
  if (await isDeletable(db, webhook_id))
    await db.shared.run(sql`delete from webhooks where webhook_id = ${webhook_id} and deleted_at is not null`);
}

/** Of two changes that begin with it the second sees what the first one did. */
export const lockWebhook = (webhook_id: WebhookId): Sql =>
  sql`update webhooks set url = url where webhook_id = ${webhook_id}`;

export const webhookExists = (webhook_id: WebhookId): Sql =>
  sql`exists (select 1 from webhooks where webhook_id = ${webhook_id} and deleted_at is null)`;
export const isEnabled = (webhook_id: WebhookId): Sql =>
  sql`exists (select 1 from webhooks where webhook_id = ${webhook_id} and disabled_at is null)`;

/** No event from now on is delivered; deliveries that are waiting continue when it is enabled again. */
export const disableWebhook = (webhook_id: WebhookId, now: number, reason: Webhook['disabled_reason'] = null): Sql =>
  sql`update webhooks set disabled_at = ${now}, disabled_reason = ${asText(reason)}
       where webhook_id = ${webhook_id} and disabled_at is null`;

export const enableWebhook = (webhook_id: WebhookId): Sql =>
  sql`update webhooks set disabled_at = null, disabled_reason = null, failing_since = null, failure_notified = 0
       where webhook_id = ${webhook_id} and disabled_at is not null and deleted_at is null`;

/** Deliveries that are waiting go to the new URL. */
export const updateWebhook = (webhook_id: WebhookId, to: Partial<Pick<Webhook, 'name' | 'url' | 'event_types'>>): Sql =>
  sql`update webhooks set ${Webhook.set(to)} where webhook_id = ${webhook_id} and deleted_at is null`;

/** @param until when the present secret stops signing beside the new one, in Unix seconds; undefined: at once. */
export const replaceSecret = (webhook_id: WebhookId, secret_sealed: string, until: number | undefined): Sql =>
  sql`update webhooks
         set previous_secret_sealed = ${until === undefined ? sql`null` : sql`secret_sealed`},
             previous_secret_until = ${until ?? null}, secret_sealed = ${secret_sealed}
       where webhook_id = ${webhook_id} and deleted_at is null`;

/** One delivery for each webhook that wants the type, once however often it is planned. */
export const planDeliveries = (event: NewDelivery, now: number): Sql =>
  sql`insert into webhook_deliveries
        (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, next_attempt_at)
      select ${event.delivery_id} || '.' || w.webhook_id, w.webhook_id, ${event.event_id}, ${event.event_type},
             ${event.payload}, ${asBigint(now)}, 0, ${asBigint(now)}
        from webhooks w where w.disabled_at is null and w.event_types like ${`%"${event.event_type}"%`}
      on conflict (webhook_id, event_id) do nothing`;

/** One for this webhook alone. */
export const insertDelivery = (delivery: NewDelivery & { webhook_id: WebhookId }, now: number): Sql =>
  sql`insert into webhook_deliveries
      ${Delivery.values({ ...delivery, created_at: now, attempts: 0, next_attempt_at: now })}`;

/** Enabled webhooks that have a delivery due, in the order of their ids. */
export const dueWebhooks = (part: Part, now: number, after: string, limit: number) =>
  part.all(
    WebhookOnly,
    sql`select webhook_id from webhooks w where w.webhook_id > ${after} and disabled_at is null and exists
          (select 1 from webhook_deliveries d where d.webhook_id = w.webhook_id and d.next_attempt_at <= ${now})
         order by webhook_id limit ${limit}`,
  );

/** The most overdue first. */
export const dueDeliveries = (part: Part, webhook_id: WebhookId, now: number, limit: number) =>
  part.all(
    DueDelivery,
    sql`select ${Delivery.columnsOf('d')}, w.url, w.secret_sealed, w.failing_since,
               case when w.previous_secret_until > ${now} then w.previous_secret_sealed end as previous_secret_sealed
          from webhook_deliveries d join webhooks w on w.webhook_id = d.webhook_id
         where d.webhook_id = ${webhook_id} and d.next_attempt_at <= ${now} and w.disabled_at is null
         order by d.next_attempt_at limit ${limit}`,
  );

export const webhookDeliveries = deliveryQueue('webhook_deliveries', 'webhook_id', Delivery, {
  undeliverable: sql`and webhook_id in (select webhook_id from webhooks where disabled_at is not null)`,
  everyReceiver: sql`webhook_id in (select webhook_id from webhooks)`,
});

/** For the statements of {@link webhookDeliveries} that end an attempt. */
export const keepAnswer = ({ status, body, milliseconds }: Answer, attempt_log: string): Sql =>
  sql`, ${Delivery.set({ response_status: status, response_body: body, duration_ms: milliseconds, attempt_log })}`;

/** From the first failure on, until {@link markWell}. */
export const markFailing = (db: Db, webhook_id: WebhookId, now: number) =>
  db.shared.run(
    sql`update webhooks set failing_since = ${now} where webhook_id = ${webhook_id} and failing_since is null`,
  );
export const markWell = (db: Db, webhook_id: WebhookId) =>
  db.shared.run(
    sql`update webhooks set failing_since = null, failure_notified = 0
         where webhook_id = ${webhook_id} and failing_since is not null`,
  );

const NextAttempt = row('webhook_deliveries', { webhook_id: id<WebhookId>(), next_attempt_at: nullable(integer) });

/** When enabled webhooks that fail are tried next. */
export const nextAttempts = async (db: Db): Promise<ReadonlyMap<WebhookId, number | null>> => {
  const statement = sql`select w.webhook_id, (select min(d.next_attempt_at) from webhook_deliveries d
                               where d.webhook_id = w.webhook_id and d.next_attempt_at is not null) as next_attempt_at
          from webhooks w where w.failing_since is not null and w.disabled_at is null and w.deleted_at is null`;
  const earliest = new Map<WebhookId, number | null>();
  for (const { webhook_id, next_attempt_at } of (await askAll(db, (part) => part.all(NextAttempt, statement))).flat()) {
    const other = earliest.get(webhook_id) ?? null;
    earliest.set(webhook_id, other === null ? next_attempt_at : Math.min(other, next_attempt_at ?? other));
  }
  return earliest;
};

/** `failure_notified`: 1 of the failures, 2 that it was disabled for them. */
const notified = (webhook: Pick<Webhook, 'disabled_at'>) => (webhook.disabled_at === null ? 1 : 2);

/** Webhooks that administrators are to be notified of: failing since before a moment, or disabled by the system. */
export const unreportedFailures = (db: Db, before: number, limit: number) =>
  db.shared.all(
    Webhook,
    sql`select ${Webhook.columns} from webhooks
         where deleted_at is null
           and ((disabled_at is null and failing_since <= ${before} and failure_notified < 1)
             or (disabled_at is not null and disabled_reason is not null and failure_notified < 2))
         order by created_at, webhook_id limit ${limit}`,
  );

/** Changes nothing if another node was first, or if it is well by now. */
export const markNotified = (webhook: Webhook): Sql =>
  sql`update webhooks set failure_notified = ${notified(webhook)}
       where webhook_id = ${webhook.webhook_id} and failure_notified < ${notified(webhook)} and
             ${webhook.disabled_at === null ? sql`failing_since is not null` : sql`disabled_reason is not null`}`;

export const claimDelivery = (part: Part, delivery: Delivery, claim: { now: number; until: number }) =>
  webhookDeliveries.claim(
    part,
    delivery,
    claim,
    sql`webhook_id in (select webhook_id from webhooks where webhook_id = ${delivery.webhook_id} and disabled_at is null)`,
  );

/** It is enabled, and no delivery of a part has succeeded since then. */
export const hasOnlyFailed = (webhook_id: WebhookId, since: number): Sql =>
  sql`${isEnabled(webhook_id)} and not exists
        (select 1 from webhook_deliveries where webhook_id = ${webhook_id} and delivered_at >= ${since})`;

/** Starts the oldest dead deliveries anew, and tries at once those that wait after a failure. @param max of each; the others are left. */
export const replayDeadDeliveries = (webhook_id: WebhookId, max: number, now: number): Sql => {
  const oldest = (condition: Sql) =>
    sql`select delivery_id from (select delivery_id from webhook_deliveries where webhook_id = ${webhook_id} and ${condition}
           order by created_at, delivery_id limit ${max}) as oldest`;
  return sql`update webhook_deliveries
                set attempts = case when next_attempt_at is null then 0 else attempts end, next_attempt_at = ${now}
       where (${isInState('dead')} or next_attempt_at > ${now}) and delivery_id in
         (${oldest(isInState('dead'))} union all ${oldest(sql`${isInState('waiting')} and attempts > 0`)})`;
};

const DeadCount = row('webhook_deliveries', { webhook_id: id<WebhookId>(), dead: integer });

/** How many dead deliveries of a webhook are counted: it may have any number of them. */
export const maxDeadCounted = 1000;

/** The number of dead deliveries by webhook, up to {@link maxDeadCounted}. @param which all webhooks without it. */
export async function countDeadDeliveries(db: Db, which?: WebhookId): Promise<ReadonlyMap<WebhookId, number>> {
  const statement = sql`select w.webhook_id,
               (select count(*) from (select 1 as one from webhook_deliveries d
                 where d.webhook_id = w.webhook_id and ${isInState('dead')} limit ${maxDeadCounted}) as found) as dead
          from webhooks w ${which === undefined ? sql`` : sql`where w.webhook_id = ${which}`}`;
  const counts = new Map<WebhookId, number>();
  for (const { webhook_id, dead } of (await askAll(db, (part) => part.all(DeadCount, statement))).flat())
    counts.set(webhook_id, Math.min((counts.get(webhook_id) ?? 0) + dead, maxDeadCounted));
  return counts;
}

export const exportedWebhooks = exportedTable('webhooks', {
  row: row('webhooks', { ...Webhook.fields, failure_notified: integer, previous_secret_until: nullable(integer) }),
  where: sql`deleted_at is null`,
  sealed: { secret: 'secret_sealed', previous_secret: 'previous_secret_sealed' },
});
