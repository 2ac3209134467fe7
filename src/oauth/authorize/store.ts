import type { Condition } from '../../audit/store.ts';
import { waitingRequestSeconds } from '../../authentication/sessions/browser.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Progress } from './next-step.ts';

/** A request that waits for its person: to sign in, to choose an account, to consent. */
export type PendingRequest = Progress & { request_id: string; parameters: AuthorizationRequest; created_at: number };

export const insertPendingRequest = (
  db: Db,
  pending: { request_id: string; browser_hash: string; parameters: AuthorizationRequest },
  now: number,
) =>
  db.run(
    `insert into authorization_requests (request_id, browser_hash, client_id, parameters, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      pending.request_id,
      pending.browser_hash,
      pending.parameters.client_id,
      JSON.stringify(pending.parameters),
      now,
      now + waitingRequestSeconds,
    ],
  );

/** Only for the browser that made the request: a link to somebody else's sign-in leads nowhere. */
export async function findPendingRequest(
  db: Db,
  request_id: string,
  browser_hash: string,
  now: number,
): Promise<PendingRequest | undefined> {
  const row = await db.get<Progress & { request_id: string; parameters: string; created_at: number }>(
    `select request_id, parameters, authenticated_session_id, account_selected_user_id, consented_user_id, created_at
       from authorization_requests where request_id = $1 and browser_hash = $2 and expires_at > $3`,
    [request_id, browser_hash, now],
  );
  return row && { ...row, parameters: JSON.parse(row.parameters) as AuthorizationRequest };
}

/** The session must have been started or renewed in the same batch. */
export const markAuthenticated = (request_id: string, session_id: string, token_hash: string): Statement => ({
  sql: `update authorization_requests set authenticated_session_id = $2
         where request_id = $1 and exists (select 1 from sessions where session_id = $2 and token_hash = $3)`,
  params: [request_id, session_id, token_hash],
});

export const markAccountSelected = (db: Db, request_id: string, user_id: string) =>
  db.run('update authorization_requests set account_selected_user_id = $2 where request_id = $1', [
    request_id,
    user_id,
  ]);

/** That this person has not answered the page for this request yet. */
export const awaitsConsent = (request_id: string, user_id: string): Condition => ({
  sql: `exists (select 1 from authorization_requests
                 where request_id = $1 and (consented_user_id is null or consented_user_id <> $2))`,
  params: [request_id, user_id],
});

export const markConsented = (request_id: string, user_id: string): Statement => ({
  sql: 'update authorization_requests set consented_user_id = $2 where request_id = $1',
  params: [request_id, user_id],
});

/** Once its grant is there, the request is done. */
export const completePendingRequest = (request_id: string, grant_id: string): Statement => ({
  sql: `delete from authorization_requests
         where request_id = $1 and exists (select 1 from grants where grant_id = $2)`,
  params: [request_id, grant_id],
});

export const deletePendingRequest = (db: Db, request_id: string) =>
  db.run('delete from authorization_requests where request_id = $1', [request_id]);

export const purgePendingRequests = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    `delete from authorization_requests where request_id in
       (select request_id from authorization_requests where expires_at < $1 order by expires_at limit $2)`,
    [expiredBefore, rows],
  );

export const deleteRequestsOfClient = (db: Db, client_id: string, rows: number) =>
  db.run(
    `delete from authorization_requests where request_id in
       (select request_id from authorization_requests where client_id = $1 limit $2)`,
    [client_id, rows],
  );
