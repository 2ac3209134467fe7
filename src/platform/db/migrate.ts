import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { listAssets, readAsset } from '../assets.ts';
import { dropKeysBetweenParts } from './cell-keys.ts';
import type { OneDb, StoreOf } from './db.ts';
import { type Engine, type MigrationSession, StoreMisconfigured, StoreUnavailable } from './engine.ts';
import { type RowOf, row, text } from './rows.ts';
import { sql } from './sql.ts';

export type { MigrationSession } from './engine.ts';

/** A `Db` as the engines make it. Only `migrate` may call `exclusively`; all others are handed a plain `Db`. */
export type MigratableDb = StoreOf<MigratableEngine>;
export type MigratableEngine = Engine & {
  /** Where its tables are, of a part that shares a database with others. */
  readonly schema?: string | undefined;
  /** Whose connections it uses, of a part that shares them with others. */
  server?(): unknown;
  /** Of a store in several parts: the name of the server that has a cell, which is its address on Citus. */
  placeOf?(cell: string): string;
  readonly isCitus?: boolean;
  /** Of a store in several parts: the copies of its shared tables on further servers. */
  copies?(): Promise<readonly MigratableDb[]>;
  /** The same on a server that is to have one. */
  copyAt?(server: string): MigratableDb;
  /** Of a store in several parts: keeps where they are, once its tables are there. */
  keepPlaces?(): Promise<void>;
  /** Of a store in several parts: a cell as if it was on this server, where it may come to be. */
  cellAt?(cell: string, server: string): MigratableDb;
  exclusively<T>(work: (session: MigrationSession) => Promise<T>): Promise<T>;
};

/** A sentence for the operator: the database and this version do not fit together. */
export class MigrationRefused extends Error {
  override name = 'MigrationRefused';
}

type Migration = { name: string; script: string; checksum: string };
const Applied = row('schema_migrations', { name: text, checksum: text });
type Applied = RowOf<typeof Applied>;

const ownFolder = 'platform/db/migrations';

/**
 * Brings the tables up to this version. Each missing migration is a transaction of its own: nodes of the version before wait
 * for the locks of one at a time, and what is interrupted goes on where it stopped. In a new store, which no node uses, all
 * are one, which costs one flush. Several nodes may start at once: they take turns, and each migration is applied once. Where
 * none is missing, nothing is locked.
 * @param now Unix seconds.
 * @param folder holds `NNNN-name.sql`; the tests' own, otherwise ours.
 * @returns the names just applied, in order.
 * @throws {MigrationRefused} when a newer version, or another text of the same migration, has been here.
 * @throws {StoreUnavailable}
 */
export async function migrate(db: MigratableDb, now: number, folder?: URL): Promise<string[]> {
  const migrations = readMigrations(folder);
  const [first, ...others] = db.parts;
  const isOneOfSeveral = others.length > 0 || db.schema !== undefined;
  const done = await migratePart(first!, migrations, now, isOneOfSeveral);
  for (const part of [...((await db.copies?.()) ?? []), ...others]) {
    try {
      await migratePart(part, migrations, now, isOneOfSeveral);
    } catch (error) {
      // While the first part lacked nothing, this is no upgrade, and a server that is away keeps no node from starting.
      if (done.length > 0 || !(error instanceof StoreUnavailable) || error instanceof StoreMisconfigured) throw error;
    }
  }
  await db.keepPlaces?.();
  return done;
}

async function migratePart(
  part: MigratableDb,
  migrations: readonly Migration[],
  now: number,
  isOneOfSeveral: boolean,
): Promise<string[]> {
  const before = await findApplied(part);
  if (before && missingMigrations(migrations, before).length === 0) return [];
  await nextTurn(); // on SQLite a turn's reads share a snapshot, and the caller's next one must see the new tables
  const done: string[] = [];
  for (;;) {
    const names = await part.exclusively(async (session) => {
      const applied = await applyNext(session, part.engine, migrations, now);
      if (applied.length > 0 && isOneOfSeveral) await dropKeysBetweenParts(session);
      return applied;
    });
    if (names.length === 0) return done;
    done.push(...names);
  }
}

/** @returns the names of the migrations that it applied; none if none is missing. */
async function applyNext(
  session: MigrationSession,
  engine: OneDb['engine'],
  migrations: readonly Migration[],
  now: number,
): Promise<string[]> {
  await session.exec(
    'create table if not exists schema_migrations (name text primary key, applied_at bigint not null, checksum text not null)',
  );
  const applied = await session.all<Applied>('select name, checksum from schema_migrations order by name');
  const missing = missingMigrations(migrations, applied);
  const next = applied.length === 0 ? missing : missing.slice(0, 1);
  for (const { name, script, checksum } of next) {
    await session.exec(scriptFor(engine, script));
    await session.all('insert into schema_migrations (name, applied_at, checksum) values ($1, $2, $3)', [
      name,
      now,
      checksum,
    ]);
  }
  return next.map(({ name }) => name);
}

/**
 * For callers that may not change the tables, as commands: a shell with another version of Signet
 * must not upgrade a running service by listing its clients.
 * @throws {MigrationRefused} with a sentence that says what to run.
 * @throws {StoreUnavailable}
 */
export async function refuseUnlessMigrated(db: Pick<OneDb, 'parts'>, folder?: URL): Promise<void> {
  for (const part of db.parts) {
    await refusePartUnlessMigrated(part, folder).catch((error: unknown) => {
      // What needs it finds out by itself.
      if (part === db.parts[0] || !(error instanceof StoreUnavailable) || error instanceof StoreMisconfigured)
        throw error;
    });
  }
}

async function refusePartUnlessMigrated(part: OneDb, folder?: URL): Promise<void> {
  const applied = await findApplied(part);
  if (!applied) {
    throw new MigrationRefused(
      'The database has not been set up yet. Start the server (signet serve), or run: signet migrate. Nothing was changed.',
    );
  }
  const missing = missingMigrations(readMigrations(folder), applied);
  if (missing.length > 0) {
    throw new MigrationRefused(
      `The database is from an older version: ${missing.length === 1 ? 'a migration is' : `${missing.length} migrations are`} missing. Start the server of this version (signet serve), or run: signet migrate. Nothing was changed.`,
    );
  }
}

/** Whether a server has ever set this database up. */
export const isSetUp = async (db: OneDb): Promise<boolean> => (await findApplied(db)) !== undefined;

/** @returns undefined when the database has never been migrated. */
async function findApplied(db: OneDb & Pick<MigratableEngine, 'schema'>): Promise<Applied[] | undefined> {
  const [table] = await db.query({
    sql:
      db.engine === 'sqlite'
        ? `select 1 as one from sqlite_master where type = 'table' and name = 'schema_migrations'`
        : `select 1 as one where to_regclass('${db.schema ? `${db.schema}.` : ''}schema_migrations') is not null`,
  });
  return table && db.all(Applied, sql`select ${Applied.columns} from schema_migrations order by name`);
}

// What only one engine understands is a comment to the other: /* postgres: collate "C" */
const scriptFor = (engine: OneDb['engine'], script: string): string =>
  script.replaceAll(engine === 'sqlite' ? /\/\* sqlite: (.*?) \*\//g : /\/\* postgres: (.*?) \*\//g, '$1');

function readMigrations(folder?: URL): Migration[] {
  const files = folder ? readdirSync(folder) : listAssets(ownFolder);
  const read = (file: string) =>
    folder ? readFileSync(new URL(file, folder), 'utf8') : readAsset(`${ownFolder}/${file}`);
  return files
    .filter((file) => /^\d{4}-.+\.sql$/.test(file))
    .sort()
    .map((file) => {
      // A checkout on Windows may carry other line ends; the migration is the same one.
      const script = read(file).replaceAll('\r\n', '\n');
      return { name: file.slice(0, -'.sql'.length), script, checksum: hash('sha256', script) };
    });
}

function missingMigrations(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, checksum } of applied) {
    const migration = known.get(name);
    if (!migration) {
      throw new MigrationRefused(
        `The database has the migration ${name}, which is unknown to this version of Signet: a newer version has already run on this database. Start that version, or restore a backup from before the upgrade.`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new MigrationRefused(
        `The migration ${name} differs from the one that was applied to this database. Applied migrations must not be edited: restore its file and put the change in a new migration.`,
      );
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  return migrations.filter(({ name }) => !done.has(name));
}
