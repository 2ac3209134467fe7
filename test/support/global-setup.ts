import { type PostgresServer, startPostgres } from './postgres-server.ts';

let server: PostgresServer | undefined;

/** One PostgreSQL for the whole run. Test files run in child processes, which inherit the address. */
export async function globalSetup(): Promise<void> {
  server = await startPostgres();
  process.env.TEST_POSTGRES_URL = server.url;
}

/** Runs when tests failed, too. */
export async function globalTeardown(): Promise<void> {
  await server?.stop();
}
