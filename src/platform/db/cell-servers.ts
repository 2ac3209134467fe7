import type pg from 'pg';
import { publication, sharedTables, subscriptionOf } from './cell-copies.ts';
import { CellsRefused } from './cell-refused.ts';
import { createServers } from './postgres-servers.ts';

/** A connection by itself, outside of a transaction and without a limit of time: a copy takes what it takes. */
export async function onServer<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await createServers(url).connectOnce({ connectionTimeoutMillis: 10_000 });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export const rowsOf = async <Row>(client: pg.Client, text: string, params: unknown[] = []): Promise<Row[]> =>
  (await client.query(text, params)).rows as Row[];

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** @throws {CellsRefused} */
async function refuseUnlessLogical(client: pg.Client): Promise<void> {
  const [setting] = await rowsOf<{ wal_level: string }>(client, 'show wal_level');
  if (setting?.wal_level === 'logical') return;
  throw new CellsRefused(
    `PostgreSQL has wal_level = ${setting?.wal_level}, so other servers cannot follow it. Set wal_level = logical on every server of the store, and restart it. Nothing was changed.`,
  );
}

/** Creates a publication unless it is there. */
export async function publish(client: pg.Client, name: string, of: string): Promise<void> {
  await refuseUnlessLogical(client);
  const found = await rowsOf(client, 'select 1 from pg_publication where pubname = $1', [name]);
  if (found.length === 0) await client.query(`create publication ${name} for ${of}`);
}

/** Creates a subscription unless it is there. @param from a URL by which the subscriber reaches the publisher. */
export async function subscribe(client: pg.Client, name: string, from: string, to: string): Promise<void> {
  const found = await rowsOf(client, 'select 1 from pg_subscription where subname = $1', [name]);
  if (found.length > 0) return;
  // With what is confirmed on the disk: a change waits for it.
  await client.query(
    `create subscription ${name} connection ${quoted(from)} publication ${to} with (synchronous_commit = 'on', disable_on_error = false)`,
  );
}

type Copying = { table: string; state: string };

/** How many tables of a subscription are not copied yet. */
export const tablesToCopy = async (client: pg.Client, name: string): Promise<string[]> =>
  (
    await rowsOf<Copying>(
      client,
      `select t.relname as table, r.srsubstate as state
         from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid join pg_class t on t.oid = r.srrelid
        where s.subname = $1 and r.srsubstate <> 'r'`,
      [name],
    )
  ).map(({ table }) => table);

/**
 * Has a further server follow the first one: it gets a copy of the shared tables, whose tables are there and empty.
 * @param servers URLs, as the servers themselves reach each other.
 */
export async function followShared(first: string, { name, url }: { name: string; url: string }): Promise<void> {
  await onServer(first, (client) => publish(client, publication, `table ${sharedTables.join(', ')}`));
  await onServer(url, async (client) => {
    await refuseUnlessLogical(client);
    await subscribe(client, subscriptionOf(name), first, publication);
  });
}

export const followsShared = (server: string, url: string): Promise<boolean> =>
  onServer(url, async (client) => {
    const found = await rowsOf(client, 'select 1 from pg_subscription where subname = $1', [subscriptionOf(server)]);
    return found.length > 0;
  });
