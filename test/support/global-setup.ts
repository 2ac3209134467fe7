import { fileURLToPath } from 'node:url';
import type { PostgresServer } from './postgres-server.ts';

let server: PostgresServer | undefined;
let removeScratch: (() => void) | undefined;

/** One PostgreSQL for the whole run. Test files run in child processes, which inherit the address. */
export async function globalSetup(): Promise<void> {
  // As `bin/signet` has it: types are stripped and code is compiled once, not for each of a hundred files.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/signet', import.meta.url));
  if (process.env.TEST_POSTGRES_URL) return; // a run that a test began: it shares what the outer one has
  const [{ openScratch }, { startPostgres }, { makeSqliteTemplate }] = await Promise.all([
    import('./scratch.ts'),
    import('./postgres-server.ts'),
    import('./store-template.ts'),
  ]);
  removeScratch = openScratch();
  server = await startPostgres();
  process.env.TEST_POSTGRES_URL = server.url;
  process.env.TEST_SQLITE_TEMPLATE = await makeSqliteTemplate();
}

/** Runs when tests failed, too. */
export async function globalTeardown(): Promise<void> {
  await server?.stop();
  removeScratch?.();
}
