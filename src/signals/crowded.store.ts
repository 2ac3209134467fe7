import type { Db, Part } from '../platform/db/db.ts';
import { flag, id, row } from '../platform/db/rows.ts';
import { raw, type Sql, sql } from '../platform/db/sql.ts';
import type { StreamId } from '../platform/ids.ts';
import { hasRoom, maxWaiting, wantsUri } from './store.ts';

/** Whether any stream wants such signals. */
export const isWanted = (db: Db, uri: string): Promise<boolean> =>
  db.shared.holds(sql`exists (select 1 from signal_streams s where ${wantsUri(uri)})`);

/** A condition: a stream that wants such signals, and sends what it has, is half full in this part of the store. */
export const isCrowded = (uri: string): Sql =>
  sql`exists (select 1 from signal_streams s
               where ${wantsUri(uri)} and s.status = 'enabled' and not ${hasRoom(raw('s.stream_id'), maxWaiting / 2)})`;

/** Of a stream: an operator should know before it is paused. */
export const manyWaiting = 8000;
const failingSeconds = 3600;
/** More attempts than a failure of a moment has: the fourth is more than two minutes after the first. */
const fewAttempts = 3;

const Trouble = row('signal_streams', { stream_id: id<StreamId>(), is_failing: flag, is_filling: flag });

/**
 * In one part, streams that are enabled: whether attempts at what has waited for an hour have failed, and whether many wait. `created_at` is
 * the time of the event, which may be long before its signal is queued; so there are several attempts, or the next one is an hour late.
 */
export const streamsInTrouble = (part: Part, now: number) =>
  part.all(
    Trouble,
    sql`select s.stream_id,
               case when s.method = 'push' and exists (
                      select 1 from signal_deliveries d
                       where d.stream_id = s.stream_id and d.next_attempt_at is not null and d.attempts > 0
                         and d.created_at < ${now - failingSeconds}
                         and (d.attempts > ${fewAttempts} or d.next_attempt_at < ${now - failingSeconds})
                    ) then 1 else 0 end as is_failing,
               case when ${hasRoom(raw('s.stream_id'), manyWaiting)} then 0 else 1 end as is_filling
          from signal_streams s where s.deleted_at is null and s.status = 'enabled'`,
  );
