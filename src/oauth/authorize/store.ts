import { waitingRequestSeconds } from '../../authentication/sessions/browser.ts';
import type { Db } from '../../platform/db/db.ts';
import { id, integer, json, nullable, type RowOf, row } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { RequestId, SessionId, UserId } from '../../platform/ids.ts';
import { AuthorizationRequest } from './authorization-request.ts';

const PendingRequest = row('authorization_requests', {
  request_id: id<RequestId>(),
  parameters: json(AuthorizationRequest),
  /** The session that a sign-in for this request started or renewed. */
  authenticated_session_id: nullable(id<SessionId>()),
  account_selected_user_id: nullable(id<UserId>()),
  consented_user_id: nullable(id<UserId>()),
  created_at: integer,
});
/** An authorization request that is stored while its user signs in, selects an account or consents. */
export type PendingRequest = RowOf<typeof PendingRequest>;

export function insertPendingRequest(
  db: Db,
  request: Pick<PendingRequest, 'request_id' | 'parameters'> & { browser_hash: string },
  now: number,
) {
  const { request_id, browser_hash, parameters } = request;
  return db.of(request_id).run(
    sql`insert into authorization_requests (request_id, browser_hash, client_id, parameters, created_at, expires_at)
        values (${request_id}, ${browser_hash}, ${parameters.client_id}, ${JSON.stringify(parameters)}, ${now},
                ${now + waitingRequestSeconds})`,
  );
}

/** Only for the browser that made the request, so that it cannot be continued by a link that someone else sends. */
export const findPendingRequest = (db: Db, request_id: RequestId, browser_hash: string, now: number) =>
  db.of(request_id).get(
    PendingRequest,
    sql`select ${PendingRequest.columns} from authorization_requests
         where request_id = ${request_id} and browser_hash = ${browser_hash} and expires_at > ${now}`,
  );

/** @param session_id which the same change must start or renew. */
export const markAuthenticated = (request_id: RequestId, session_id: SessionId): Sql =>
  sql`update authorization_requests set authenticated_session_id = ${session_id} where request_id = ${request_id}`;

/** Valid for that user alone: another one who signs in before the code is issued is asked again. */
export const markAccountSelected = (db: Db, request_id: RequestId, user_id: UserId) =>
  db
    .of(request_id)
    .run(sql`update authorization_requests set account_selected_user_id = ${user_id} where request_id = ${request_id}`);

/** Changes no row if this user has consented to the request before. */
export const markConsented = (request_id: RequestId, user_id: UserId): Sql =>
  sql`update authorization_requests set consented_user_id = ${user_id}
       where request_id = ${request_id} and (consented_user_id is null or consented_user_id <> ${user_id})`;

export const deletePendingRequest = (request_id: RequestId): Sql =>
  sql`delete from authorization_requests where request_id = ${request_id}`;
