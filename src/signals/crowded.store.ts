import type { Db } from '../platform/db/db.ts';
import { raw, type Sql, sql } from '../platform/db/sql.ts';
import { hasRoom, maxWaiting, wantsUri } from './store.ts';

/** Whether any stream wants such signals. */
export const isWanted = (db: Db, uri: string): Promise<boolean> =>
  db.shared.holds(sql`exists (select 1 from signal_streams s where ${wantsUri(uri)})`);

/** A condition: a stream that wants such signals, and sends what it has, is half full in this part of the store. */
export const isCrowded = (uri: string): Sql =>
  sql`exists (select 1 from signal_streams s
               where ${wantsUri(uri)} and s.status = 'enabled' and not ${hasRoom(raw('s.stream_id'), maxWaiting / 2)})`;
