import type { Db } from '../db/db.ts';

/** What a server that sends mail does with it; `none` when SIGNET_SMTP_URL is missing off loopback. */
export type MailMode = 'smtp' | 'log' | 'none';

/** The newest sign of life of any server on this store. `at` is Unix seconds by the clock of that server. */
export type Heartbeat = { node: string; at: number; base_url: string; mail: MailMode };

export const findHeartbeat = (db: Db) =>
  db.get<Heartbeat>(`select node, at, base_url, mail from server_heartbeat where name = 'newest'`);

export const storeHeartbeat = (db: Db, { node, at, base_url, mail }: Heartbeat) =>
  db.run(
    `insert into server_heartbeat (name, node, at, base_url, mail) values ('newest', $1, $2, $3, $4)
     on conflict (name) do update set
       node = excluded.node, at = excluded.at, base_url = excluded.base_url, mail = excluded.mail`,
    [node, at, base_url, mail],
  );
