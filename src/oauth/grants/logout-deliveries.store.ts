import { signingAlgorithms } from '../../clients/choices.ts';
import { deliveryFields, deliveryQueue } from '../../deliveries/queue.ts';
import type { Part } from '../../platform/db/db.ts';
import { choice, id, type RowOf, row, text } from '../../platform/db/rows.ts';
import { asBigint, asText, raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, SessionId, UserId } from '../../platform/ids.ts';
import { isOfTest } from './test-grants.store.ts';

const Delivery = row('logout_deliveries', {
  ...deliveryFields,
  client_id: id<ClientId>(),
  user_id: id<UserId>(),
  session_id: id<SessionId>(),
});
/** A logout token for one client about one session (Back-Channel Logout 1.0). Times are Unix seconds. */
export type LogoutDelivery = RowOf<typeof Delivery>;

const DueDelivery = row('logout_deliveries join clients', {
  ...Delivery.fields,
  url: text,
  algorithm: choice(...signingAlgorithms),
});
export type DueLogoutDelivery = RowOf<typeof DueDelivery>;

/** In an `update` of grants that revokes them: marks those whose client wants to be notified. */
export const markForLogout = (batch: string): Sql =>
  sql`logout_batch = (select ${asText(batch)} from clients c
                       where c.client_id = grants.client_id and c.backchannel_logout_uri is not null)`;

/** The same of all grants of a client, whether or not it wants to be notified: their users learn of it, too. */
export const markAll = (batch: string): Sql => sql`logout_batch = ${batch}`;

/**
 * Of one client and session. A user may sign in with the client and disconnect it over and over, and all deliveries say the same:
 * no more wait, and of those that have ended no more are kept. It is more than a few nodes have in flight at once, so one that
 * waits is sent after the last end.
 */
const maxOfSession = 20;

/** The newest deliveries of a session to a client, for `from`, as many as may wait. */
const newestOf = (client_id: Sql, session_id: Sql): Sql =>
  sql`(select next_attempt_at from logout_deliveries where client_id = ${client_id} and session_id = ${session_id}
        order by created_at desc limit ${maxOfSession}) as newest`;

/**
 * Condition on the client of a delivery. A suspended or deleted one is notified, too: that ended its grants. The row of a
 * deleted one stays until then.
 */
const hasReceiver = sql`c.backchannel_logout_uri is not null`;

/**
 * One delivery for each client and session of the grants that {@link markForLogout} or {@link markAll} has marked in this change, unless so many
 * wait. A client that never redeemed its code did not take part, nor one that was only tested.
 * @param since of a bulk revocation that is written in slices: a session whose client was notified of it is left out.
 */
export const enqueueLogouts = (batch: string, now: number, since?: number): Sql =>
  sql`insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, next_attempt_at)
      select ${asText(batch)} || '.' || min(grant_id), client_id, user_id, session_id,
             ${asBigint(now)}, 0, ${asBigint(now)}
        from grants where logout_batch = ${batch} and redeemed_at is not null and not ${isOfTest}
         and exists (select 1 from clients c where c.client_id = grants.client_id and ${hasReceiver})
         and (select count(next_attempt_at) from ${newestOf(raw('grants.client_id'), raw('grants.session_id'))}) < ${maxOfSession}${
           since === undefined
             ? sql``
             : sql`
         and not exists (select 1 from logout_deliveries d
                          where d.client_id = grants.client_id and d.session_id = grants.session_id
                            and d.created_at >= ${since})`
         }
       group by client_id, user_id, session_id`;

const ClientOnly = Delivery.pick('client_id');

/** Ids of clients with a delivery that is due, in their order. */
export async function dueClients(part: Part, now: number, after: string, limit: number): Promise<ClientId[]> {
  const found = await part.all(
    ClientOnly,
    sql`select c.client_id from clients c where c.client_id > ${after} and ${hasReceiver} and exists
          (select 1 from logout_deliveries d where d.client_id = c.client_id and d.next_attempt_at <= ${now})
         order by c.client_id limit ${limit}`,
  );
  return found.map(({ client_id }) => client_id);
}

/** The most overdue first. */
export const dueLogouts = (part: Part, client_id: ClientId, now: number, limit: number) =>
  part.all(
    DueDelivery,
    sql`select ${Delivery.columnsOf('d')}, c.backchannel_logout_uri as url, c.id_token_signed_response_alg as algorithm
          from logout_deliveries d join clients c on c.client_id = d.client_id
         where d.client_id = ${client_id} and d.next_attempt_at <= ${now} and ${hasReceiver}
         order by d.next_attempt_at limit ${limit}`,
  );

/** What has ended of a session and a client, but the newest. */
export const deleteSurplusLogouts = (part: Part, { client_id, session_id }: LogoutDelivery) =>
  part.run(
    sql`delete from logout_deliveries where next_attempt_at is null and delivery_id in
          (select delivery_id from logout_deliveries where client_id = ${client_id} and session_id = ${session_id}
            order by created_at desc limit ${maxOfSession} offset ${maxOfSession})`,
  );

/** A client may have no receiver any more, or be gone: what waits for it is of no use after a while, whatever the reason. */
export const logoutDeliveries = deliveryQueue('logout_deliveries', 'client_id', Delivery, {
  undeliverable: sql`order by next_attempt_at`,
  everyReceiver: sql`next_attempt_at is not null`,
});

export const claimLogout = (part: Part, delivery: LogoutDelivery, claim: { now: number; until: number }) =>
  logoutDeliveries.claim(part, delivery, claim, sql`1 = 1`);
