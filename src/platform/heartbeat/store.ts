import type { Db } from '../db/db.ts';
import { choice, integer, type RowOf, row, text } from '../db/rows.ts';
import { sql } from '../db/sql.ts';

/** The newest sign of life of any server on this store. `at` is Unix seconds by the clock of that server. */
const Heartbeat = row('server_heartbeat', {
  node: text,
  at: integer,
  base_url: text,
  /** What it does with mail; `none` when SIGNET_SMTP_URL is missing off loopback. */
  mail: choice('smtp', 'log', 'none'),
});
export type Heartbeat = RowOf<typeof Heartbeat>;
export type MailMode = Heartbeat['mail'];

export const findHeartbeat = (db: Db) =>
  db.get(Heartbeat, sql`select ${Heartbeat.columns} from server_heartbeat where name = 'newest'`);

const StoredHeartbeat = row('server_heartbeat', { name: text, ...Heartbeat.fields });

export const storeHeartbeat = (db: Db, heartbeat: Heartbeat) =>
  db.run(
    sql`insert into server_heartbeat ${StoredHeartbeat.values({ name: 'newest', ...heartbeat })}
        on conflict (name) do update set
          node = excluded.node, at = excluded.at, base_url = excluded.base_url, mail = excluded.mail`,
  );
