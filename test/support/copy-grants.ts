import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

/** Grants of a thousand users, which differ from the one that the client has in nothing but that. */
function copyGrants({ file, client_id, count }: { file: string; client_id: string; count: number }): void {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  db.exec('pragma synchronous = off; pragma cache_size = -200000');
  const ofGrants = `from sqlite_master where type = 'index' and tbl_name = 'grants' and sql is not null`;
  const indexes = db.prepare(`select name, sql ${ofGrants}`).all() as { name: string; sql: string }[];
  for (const { name } of indexes) db.exec(`drop index ${name}`); // to make them at the end takes a third of the time
  const columns = (db.prepare(`select name from pragma_table_info('grants')`).all() as { name: string }[]).map(
    ({ name }) => name,
  );
  const other: Record<string, string> = {
    grant_id: `printf('gr_%07d', i)`,
    code_hash: `printf('code_%07d', i)`,
    user_id: `'usr_' || (i % 1000)`,
    session_id: `'ses_' || (i % 1000)`,
  };
  db.exec(`begin;
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 999)
    insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of)
    select 'usr_' || i, i || '@many.test', i || '@many.test', 'user', 1, 1, 1 from n;
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into grants (${columns.join(', ')})
    select ${columns.map((name) => other[name] ?? name).join(', ')}
      from n, (select * from grants where client_id = '${client_id}' limit 1);
    ${indexes.map(({ sql }) => `${sql};`).join('\n')}
    commit;
    pragma wal_checkpoint(truncate)`);
  db.close();
}

copyGrants(workerData);
