import type { Db } from '../../platform/db/db.ts';
import { exportedTable } from '../../platform/db/exported-table.ts';
import { id, integer, jsonTexts, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { EventId } from '../../platform/ids.ts';

/** The table `approved_hosts`. Times are Unix seconds. */
const HostRow = row('approved_hosts', {
  /** With its port, if the client_ids have one. */
  host: text,
  allowed_scopes: jsonTexts(),
  event_id: id<EventId>(),
  created_at: integer,
  updated_at: integer,
});
export type ApprovedHost = Readonly<RowOf<typeof HostRow>>;

export const readHost = (db: Db, host: string): Promise<ApprovedHost | undefined> =>
  db.shared.get(HostRow, sql`select ${HostRow.columns} from approved_hosts where host = ${host}`);

/** By name. */
export const listHosts = (db: Db, limit: number): Promise<ApprovedHost[]> =>
  db.shared.all(HostRow, sql`select ${HostRow.columns} from approved_hosts order by host limit ${limit}`);

/** Refused, as a statement that changes nothing, when there are `max` others. */
export const insertHost = (host: ApprovedHost, max: number): Sql =>
  sql`insert into approved_hosts ${HostRow.select(host)} where (select count(*) from approved_hosts) < ${max}`;

/** Compare-and-swap, by the event of its last change. */
export const updateHost = (host: ApprovedHost, seen: ApprovedHost): Sql =>
  sql`update approved_hosts set allowed_scopes = ${JSON.stringify(host.allowed_scopes)}, event_id = ${host.event_id},
             updated_at = ${host.updated_at}
       where host = ${host.host} and event_id = ${seen.event_id}`;

export const deleteHost = (host: string): Sql => sql`delete from approved_hosts where host = ${host}`;

export const exportedHosts = exportedTable('approved_hosts', {
  row: HostRow.pick('host', 'allowed_scopes', 'created_at', 'updated_at'),
  follows: { columns: { event_id: text }, values: (_, { event_id }) => ({ event_id }) },
});
