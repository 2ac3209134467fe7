import { randomBytes } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type MigratableDb, migrate } from '../../src/platform/db/migrate.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { asAdmin, databaseUrl } from './postgres-admin.ts';
import { type PostgresServer, startPostgres, templateDatabase } from './postgres-server.ts';
import { scratchFolder } from './scratch.ts';

export const engines = ['sqlite', 'postgres'] as const;
export type Engine = (typeof engines)[number];

/** `url` is there for PostgreSQL; `dataDir` always, since keys and pictures may need a folder on either. */
export type FreshDatabase = { db: MigratableDb; url?: string; dataDir: string };

/** Registers one test per engine. */
export function onBothEngines(name: string, fn: (t: TestContext, engine: Engine) => void | Promise<void>): void {
  for (const engine of engines) test(`${name} (${engine})`, (t) => fn(t, engine));
}

/**
 * A migrated database that no other test sees. It is closed and removed after the test.
 * @param options `empty` leaves the migrations out.
 */
export async function freshDatabase(
  t: TestContext,
  engine: Engine,
  options: { empty?: true } = {},
): Promise<FreshDatabase> {
  const cleanUp = new AsyncDisposableStack(); // last in, first out: close, then drop, then remove
  t.after(() => cleanUp.disposeAsync());
  const dataDir = await scratchFolder('test');
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true }));
  const url = engine === 'postgres' ? await freshPostgres(cleanUp, options.empty) : undefined;
  const template = options.empty ? undefined : process.env.TEST_SQLITE_TEMPLATE;
  if (engine === 'sqlite' && template) await copyFile(template, join(dataDir, databaseFile));
  const db = await openDb({ dataDir, databaseUrl: url, databaseMayLoseCommits: true });
  cleanUp.defer(() => db.close());
  if (engine === 'sqlite' && !options.empty && !template) await migrate(db, 0);
  return { db, url, dataDir };
}

async function freshPostgres(cleanUp: AsyncDisposableStack, empty?: true): Promise<string> {
  const adminUrl = await postgresUrl();
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(adminUrl, (client) => createDatabase(client, name, empty ? 'template0' : templateDatabase));
  cleanUp.defer(async () => {
    // `force` ends what a test, or a process that it killed, may have left connected.
    await asAdmin(adminUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
  });
  return databaseUrl(adminUrl, name);
}

/** Test files run at the same time, and PostgreSQL refuses to copy a template that someone else is connected to. */
async function createDatabase(client: pg.Client, name: string, template: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // By files: through the write-ahead log, as is the default, a copy costs five times as much.
      await client.query(`create database ${name} template ${template} strategy file_copy`);
      return;
    } catch (error) {
      const inUse = error instanceof pg.DatabaseError && error.code === '55006';
      if (!inUse || attempt === 100) throw error;
      await sleep(20);
    }
  }
}

let lazyServer: Promise<PostgresServer> | undefined;

/** The server of the whole run; for a file that runs without the global setup, one of its own. */
export async function postgresUrl(): Promise<string> {
  const shared = process.env.TEST_POSTGRES_URL;
  if (shared) return shared;
  lazyServer ??= startPostgres();
  return (await lazyServer).url;
}

// Registered here, on import, where `after` means "after this file". Inside of a test it would mean that test.
after(async () => {
  await (await lazyServer?.catch(() => undefined))?.stop();
});
