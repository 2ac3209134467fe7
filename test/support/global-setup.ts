import { fileURLToPath } from 'node:url';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

let server: PostgresServer | undefined;

/** One PostgreSQL for the whole run. Test files run in child processes, which inherit the address. */
export async function globalSetup(): Promise<void> {
  // As `bin/signet` has it: types are stripped and code is compiled once, not for each of a hundred files.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/signet', import.meta.url));
  server = await startPostgres();
  process.env.TEST_POSTGRES_URL = server.url;
}

/** Runs when tests failed, too. */
export async function globalTeardown(): Promise<void> {
  await server?.stop();
}
