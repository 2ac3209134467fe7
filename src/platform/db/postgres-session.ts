import pg from 'pg';
import { StoreMisconfigured } from './engine.ts';
import { needsSessions } from './postgres-errors.ts';
import { durabilitySettings, type Session } from './postgres-lane.ts';

/** What a second look at the same session may take. A pool with no connection left for it lets it wait. */
const probeMs = 3_000;
/** Transactions that are held open, so that the pool has to give the backend of another session to one of them. */
const probes = 3;

/**
 * Refuses a PostgreSQL that cannot keep what we promise.
 * @param mayLoseCommits the operator has said that it need not.
 * @throws {StoreMisconfigured}
 */
export async function checkSession(url: string, session: Session, mayLoseCommits: boolean): Promise<void> {
  const off = durabilitySettings.filter((name) => session.settings[name] === 'off');
  if (off.length > 0 && !mayLoseCommits) {
    throw new StoreMisconfigured(
      `PostgreSQL may lose changes that it has confirmed: ${off.join(', ')} off for this connection. Turn it on where it was turned off (server, database, role or SIGNET_DATABASE_URL), or set SIGNET_DATABASE_MAY_LOSE_COMMITS=on if such losses are acceptable.`,
    );
  }
  if (!session.keepsSettings) throw new StoreMisconfigured(needsSessions);
  // A pooler announces a number of its own making; one that keeps sessions may stay.
  if (session.announcedPid !== session.backend.pid && !(await keepsSessions(url))) {
    throw new StoreMisconfigured(needsSessions);
  }
}

/** Whether a session has the same backend after others have had every chance to take it. */
async function keepsSessions(url: string): Promise<boolean> {
  const clients = Array.from(
    { length: probes + 1 },
    () =>
      new pg.Client({
        connectionString: url,
        connectionTimeoutMillis: probeMs,
        query_timeout: probeMs,
        keepAlive: true,
      }),
  );
  for (const client of clients) client.on('error', () => undefined); // the query in flight rejects
  const pidOf = async (client: pg.Client): Promise<number> =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
  const [first, ...others] = clients;
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const before = await pidOf(first!);
    for (const other of others) {
      await other.query('begin');
      if ((await pidOf(other)) === before) return false;
    }
    return (await pidOf(first!)) === before;
  } catch (error) {
    // Two sessions at once are more than the pool has: the second waits for the first, which is not using its own.
    if (error instanceof Error && error.message === 'Query read timeout') return false;
    throw error;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}
