import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

/** Rows of a store, of each kind that grows with use. */
export type Size = { readonly users: number; readonly grants: number; readonly clients: number };

/** What the rows are copies of, made by the server itself. */
export type Originals = { readonly user_id: string; readonly client_id: string; readonly other_client_id: string };

/** Rows in one transaction. */
const rowsPerCommit = 20_000;
const month = 30 * 86_400;
const seconds = () => Math.floor(Date.now() / 1000);

/** As long and as random as the ids that Signet makes, and the same for the same number, so that rows can refer to others. */
const idOf = (prefix: string, number: number) =>
  `${prefix}_${createHash('sha256').update(`${prefix} ${number}`).digest('base64url').slice(0, 22)}`;

/** The same for rows whose ids begin with the milliseconds of their creation (48 bits). */
function idAt(prefix: string, number: number, milliseconds: number): string {
  const time = Buffer.alloc(6);
  time.writeUIntBE(milliseconds, 0, time.length);
  return `${prefix}_${time.toString('base64url')}${idOf(prefix, number).slice(-14)}`;
}

const firstNames = ['Ada', 'Björn', 'Chloé', 'Dmitri', 'Emre', 'Fatima', 'Grace', 'Hedy', 'Ida', 'Jürgen', 'Katherine'];
const lastNames = ['Adler', 'Brown', 'Çelik', 'Dubois', 'Evans', 'Fischer', 'García', 'Hopper', 'Ivanova', 'Jackson'];
const nameOf = (number: number) =>
  `${firstNames[number % firstNames.length]} ${lastNames[Math.floor(number / 7) % lastNames.length]} ${number}`;

/** SQL for a column of the copy whose number is `n`. */
type Columns = Readonly<Record<string, string>>;

/**
 * Fills the store of a server that is stopped with copies of what its own endpoints have made: users with a session,
 * consents, an entitlement and its history, clients in several states, grants (five of six of one client), and events of the audit log. So each row has the form of a
 * real one, whatever columns later versions add.
 * @param progress gets a sentence now and then.
 * @returns the events of the audit log, which the server has yet to seal.
 */
export function fillStore(
  path: string,
  { users, grants, clients }: Size,
  { user_id, client_id, other_client_id }: Originals,
  progress: (text: string) => void,
): number {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  db.exec('pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -400000');
  db.function('id_of', { deterministic: true }, (prefix, number) => idOf(String(prefix), Number(number)));
  db.function('id_at', { deterministic: true }, (prefix, number, at) =>
    idAt(String(prefix), Number(number), Number(at) * 1000 + (Number(number) % 1000)),
  );
  db.function('name_of', { deterministic: true }, (number) => nameOf(Number(number)));
  const at = seconds();
  const userOf = (number: string) => `id_of('usr', ${number} % ${users})`;
  const pastMonth = `${at} - (n % ${month})`;
  const inOrder = (rows: number) => `${at - month} + n * ${month} / ${rows}`;
  const events = Math.floor(users / 4);
  const all = users * 6 + grants + clients + events;
  let done = 0;

  function copy(table: string, count: number, original: string, columns: Columns): void {
    const names = (db.prepare(`select name from pragma_table_info('${table}')`).all() as { name: string }[]).map(
      ({ name }) => name,
    );
    const values = names.map((name) => columns[name] ?? `original.${name}`);
    // Later values may refer to the number of the copy.
    const insert = db.prepare(
      `with recursive numbers (n) as (select cast(? as integer) union all select n + 1 from numbers where n + 1 < ?)
       insert into ${table} (${names.join(', ')})
       select ${values.join(', ')} from numbers, (select * from ${table} where ${original} limit 1) as original`,
    );
    for (let from = 0; from < count; from += rowsPerCommit) {
      const to = Math.min(from + rowsPerCommit, count);
      const { changes } = insert.run(from, to);
      if (Number(changes) !== to - from) throw new Error(`There is no row of ${table} where ${original}.`);
      const tenth = Math.floor((done * 10) / all);
      done += to - from;
      if (Math.floor((done * 10) / all) > tenth) progress(`${done} of ${all} rows`);
    }
  }

  copy('users', users, `user_id = '${user_id}'`, {
    user_id: userOf('n'),
    email: `'user' || n || '@example.com'`,
    email_key: `'user' || n || '@example.com'`,
    name: 'name_of(n)',
    role: `'user'`,
    terms_of: 'null', // a job writes what they are searched by
    created_at: pastMonth,
  });
  copy('passwords', users, `user_id = '${user_id}'`, { user_id: userOf('n') });
  copy('sessions', users, `user_id = '${user_id}'`, {
    session_id: `id_of('ses', n)`,
    token_hash: `id_of('token', n)`,
    user_id: userOf('n'),
    last_seen_at: pastMonth,
  });
  // Neither client asks its users.
  db.prepare('insert into consents (user_id, client_id, scope, granted_at) values (?, ?, ?, ?)').run(
    ...[user_id, client_id, 'openid email', at],
  );
  copy('consents', users, `user_id = '${user_id}'`, { user_id: userOf('n') });
  copy('entitlements', users, `user_id = '${user_id}'`, { user_id: userOf('n'), write_id: `id_of('write', n)` });
  copy('entitlement_versions', users, `user_id = '${user_id}'`, {
    user_id: userOf('n'),
    event_id: `id_of('event', n)`,
  });
  copy('clients', clients, `client_id = '${client_id}'`, {
    client_id: `id_of('cl', n)`,
    owner_user_id: userOf('n'),
    name: `'App of ' || name_of(n)`,
    status: `case n % 3 when 0 then 'pending_review' when 1 then 'suspended' else 'approved' end`,
    event_id: `id_of('client', n)`,
    terms_of: 'null',
    created_at: pastMonth,
  });
  copy('grants', grants, `client_id = '${client_id}' and redeemed_at is not null`, {
    grant_id: `id_at('gr', n, ${inOrder(grants)})`,
    client_id: `case when n % 6 = 5 then '${other_client_id}' else '${client_id}' end`,
    user_id: userOf('n'),
    session_id: `id_of('ses', n % ${users})`,
    code_hash: `id_of('code', n)`,
    created_at: inOrder(grants),
    issuance_id: 'null',
    unanswered_until: 'null',
  });
  // The chain takes events in their order, and none that are older than its last by more than ten minutes.
  copy('audit_log', events, `target = '${client_id}'`, {
    event_id: `id_of('event', n)`,
    at: `${at} - 300 + n * 240 / ${Math.max(1, events)}`,
    actor: userOf('n'),
    target: userOf('n'),
    seq: 'null',
    seal: 'null',
  });
  db.exec('pragma wal_checkpoint(truncate)');
  db.close();
  return events;
}

/** Rows that a job is to delete: how many, and the query that counts those that are left. */
export type Expired = { readonly before: number; readonly left: string };

/** Lets one of so many grants have expired so long ago that it is to be deleted. */
export function expireGrants(path: string, oneOf: number): Expired {
  const db = new DatabaseSync(path);
  const longAgo = seconds() - 86_400 * 30;
  const { changes } = db
    .prepare('update grants set expires_at = ?, idle_expires_at = ?, expiry_check_at = null where created_at % ? = 0')
    .run(longAgo, longAgo, oneOf);
  db.exec('pragma wal_checkpoint(truncate)');
  db.close();
  return { before: Number(changes), left: `select count(*) from grants where expires_at = ${longAgo}` };
}

/** Rows of all tables. */
export function rowsOfAll(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db.prepare(`select name from sqlite_master where type = 'table'`).all() as { name: string }[];
    return tables.reduce((sum, { name }) => sum + count(path, `select count(*) from ${name}`), 0);
  } finally {
    db.close();
  }
}

/** Rows that a query counts, while the server runs or not. */
export function count(path: string, query: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(Object.values(db.prepare(query).get() ?? {})[0]);
  } finally {
    db.close();
  }
}

/** Of the tables with at least so many rows: how many, and the bytes of their pages and of those of their indexes. */
export function rowsAndBytes(path: string, atLeast: number): Record<string, { rows: number; bytes: number }> {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db
      .prepare(
        `select m.tbl_name as name, sum(s.pgsize) as bytes from dbstat s join sqlite_master m on m.name = s.name
          where s.aggregate = true group by m.tbl_name order by bytes desc`,
      )
      .all() as { name: string; bytes: number }[];
    return Object.fromEntries(
      tables
        .map(({ name, bytes }) => [name, { rows: count(path, `select count(*) from ${name}`), bytes }] as const)
        .filter(([, { rows }]) => rows >= atLeast),
    );
  } finally {
    db.close();
  }
}
