import type { Db } from '../../platform/db/db.ts';
import { exportedTable } from '../../platform/db/exported-table.ts';
import { id, integer, jsonObject, type RowOf, row } from '../../platform/db/rows.ts';
import { asBigint, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId } from '../../platform/ids.ts';
import type { ReviewedFields } from '../client.ts';

/** The table `client_documents`. Times are Unix seconds. */
const DocumentRow = row('client_documents', {
  client_id: id<ClientId>(),
  /** What it has said last, so that what a reviewer has narrowed or rejected is not wanted anew each time that it is read. */
  fields: jsonObject<Partial<ReviewedFields>>(),
  fetched_at: integer,
  fresh_until: integer,
});
export type StoredDocument = Readonly<RowOf<typeof DocumentRow>>;

export const readDocument = (db: Db, client_id: string): Promise<StoredDocument | undefined> =>
  db.shared.get(DocumentRow, sql`select ${DocumentRow.columns} from client_documents where client_id = ${client_id}`);

/** For the change that registers its client, and whenever it was read again. Nothing for a client that was deleted meanwhile. */
export const saveDocument = ({ client_id, fields, fetched_at, fresh_until }: StoredDocument): Sql =>
  sql`insert into client_documents (client_id, fields, fetched_at, fresh_until)
      select client_id, ${JSON.stringify(fields)}, ${asBigint(fetched_at)}, ${asBigint(fresh_until)}
        from clients where client_id = ${client_id}
      on conflict (client_id) do update set
        fields = excluded.fields, fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until`;

export const exportedDocuments = exportedTable('client_documents', {
  row: DocumentRow,
  where: sql`exists (select 1 from clients c where c.client_id = client_documents.client_id and c.status <> 'deleted')`,
});
