import type { Db } from '../../platform/db/db.ts';
import { id, integer, json, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId } from '../../platform/ids.ts';
import { AuthorizationRequest } from './authorization-request.ts';

const PushedRequest = row('pushed_requests', {
  pushed_id: text,
  secret_hash: text,
  client_id: id<ClientId>(),
  parameters: json(AuthorizationRequest),
  created_at: integer,
  expires_at: integer,
});

export const insertPushedRequest = (db: Db, pushed: RowOf<typeof PushedRequest>) =>
  db.of(pushed.pushed_id).run(sql`insert into pushed_requests ${PushedRequest.values(pushed)}`);

const Pushed = PushedRequest.pick('parameters');

/** Of that client, if a sign-in may still begin with it. */
export const findPushedRequest = (
  db: Db,
  { pushed_id, secret_hash, client_id }: Pick<RowOf<typeof PushedRequest>, 'pushed_id' | 'secret_hash' | 'client_id'>,
  now: number,
) =>
  db.of(pushed_id).get(
    Pushed,
    sql`select ${Pushed.columns} from pushed_requests
         where pushed_id = ${pushed_id} and secret_hash = ${secret_hash} and client_id = ${client_id} and expires_at > ${now}`,
  );

/** With the answer to it: of several sign-ins that have begun with it, one gets a code. */
export const deletePushedRequest = (pushed_id: string): Sql =>
  sql`delete from pushed_requests where pushed_id = ${pushed_id}`;
