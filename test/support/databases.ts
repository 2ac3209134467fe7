import { randomBytes } from 'node:crypto';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { type MigratableDb, migrate } from '../../src/platform/db/migrate.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { afterTest } from './after-test.ts';
import { databaseUrl } from './postgres-admin.ts';
import {
  cellCount,
  cellsAt,
  needTemplate,
  type PostgresServer,
  startPostgres,
  templateDatabase,
} from './postgres-server.ts';
import { scratchFolder } from './scratch.ts';
import { makeSqliteTemplate } from './store-template.ts';

export type Engine = 'sqlite' | 'postgres';

export const engines: readonly Engine[] = cellCount > 0 ? ['postgres'] : ['sqlite', 'postgres'];

/** Of a server for which a test names none. */
export const usualEngine = (process.env.TEST_ENGINE ?? (cellCount > 0 ? 'postgres' : 'sqlite')) as Engine;

/** `url` is there for PostgreSQL; `dataDir` always, since keys and pictures may need a folder on either. */
export type FreshStore = { url?: string; dataDir: string };
export type FreshDatabase = FreshStore & { db: MigratableDb };
type Emptiness = { empty?: true };

/** Registers one test per engine. */
export function onBothEngines(name: string, fn: (t: TestContext, engine: Engine) => void | Promise<void>): void {
  for (const engine of engines) test(`${name} (${engine})`, (t) => fn(t, engine));
}

/**
 * A store that no other test sees, as the first start of a server leaves it. It is removed after the test.
 * @param options `empty`: as it is before that start.
 */
export async function freshStore(t: TestContext, engine: Engine, { empty }: Emptiness = {}): Promise<FreshStore> {
  const dataDir = await scratchFolder('test');
  afterTest(t, () => rm(dataDir, { recursive: true, force: true }));
  if (engine === 'postgres') return { url: await freshPostgres(t, empty ? 'template0' : templateDatabase), dataDir };
  if (!empty) await copyFile(await sqliteTemplate(), join(dataDir, databaseFile));
  return { dataDir };
}

/** A {@link freshStore} that is open until the end of the test. An empty one has no cells: it is for an engine or a migration alone. */
export async function freshDatabase(t: TestContext, engine: Engine, options?: Emptiness): Promise<FreshDatabase> {
  const store = await freshStore(t, engine, options);
  const cells = store.url !== undefined && cellCount > 0 && !options?.empty ? cellsAt(store.url) : undefined;
  const db = await openDb({ dataDir: store.dataDir, databaseUrl: store.url, databaseMayLoseCommits: true, cells });
  afterTest(t, () => db.close());
  return { db, ...store };
}

export const migrations = new URL('../../src/platform/db/migrations/', import.meta.url);

/** A {@link freshDatabase} with the schema that the migrations before this one make. @param migration its number, `0029`. */
export async function databaseBefore(t: TestContext, engine: Engine, migration: string): Promise<FreshDatabase> {
  const database = await freshDatabase(t, engine, { empty: true });
  await migrate(database.db, 0, await migrationsUpTo(database.dataDir, (name) => name < migration));
  return database;
}

/** A folder, below the given one, of those of our migrations whose file names are chosen. */
export async function migrationsUpTo(dataDir: string, isChosen: (name: string) => boolean): Promise<URL> {
  const folder = await mkdtemp(join(dataDir, 'migrations-'));
  for (const name of await readdir(migrations)) {
    if (isChosen(name)) await copyFile(new URL(name, migrations), join(folder, name));
  }
  return pathToFileURL(`${folder}/`);
}

let lazyTemplateInCells: Promise<void> | undefined;

async function freshPostgres(t: TestContext, template: string): Promise<string> {
  const server = await postgresUrl();
  if (cellCount > 0) {
    lazyTemplateInCells ??= needTemplate(server);
    await lazyTemplateInCells;
  }
  const name = `test_${randomBytes(8).toString('hex')}`;
  await createDatabase(name, template);
  // `force` ends what a test, or a process that it killed, may have left connected.
  afterTest(t, async () => (await admin()).query(`drop database if exists ${name} with (force)`));
  return databaseUrl(server, name);
}

/** Test files run at the same time, and PostgreSQL refuses to copy a template that someone else is connected to. */
async function createDatabase(name: string, template: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // By files: through the write-ahead log, as is the default, a copy costs five times as much.
      await (await admin()).query(`create database ${name} template ${template} strategy file_copy`);
      return;
    } catch (error) {
      const inUse = error instanceof pg.DatabaseError && error.code === '55006';
      if (!inUse || attempt === 15_000) throw error;
      await sleep(20);
    }
  }
}

let lazyAdmin: Promise<pg.Client> | undefined;

/** One connection for all databases of this process: PostgreSQL spends as much on two as on copying a database. */
function admin(): Promise<pg.Client> {
  lazyAdmin ??= connect().catch((error: unknown) => {
    lazyAdmin = undefined;
    throw error;
  });
  return lazyAdmin;
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  client.on('error', () => (lazyAdmin = undefined));
  await client.connect();
  return client;
}

let lazyTemplate: Promise<string> | undefined;

/** As {@link postgresUrl}. */
async function sqliteTemplate(): Promise<string> {
  const shared = process.env.TEST_SQLITE_TEMPLATE;
  if (shared) return shared;
  lazyTemplate ??= makeSqliteTemplate();
  return lazyTemplate;
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
  await (await lazyAdmin?.catch(() => undefined))?.end();
  await (await lazyServer?.catch(() => undefined))?.stop();
});
