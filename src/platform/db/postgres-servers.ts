import pg from 'pg';
import { NotPrimary, StoreMisconfigured } from './engine.ts';
import { serversOf } from './postgres-address.ts';
import { columnTypes, standbySentence, storeError } from './postgres-results.ts';

export type Servers = ReturnType<typeof createServers>;

/** The servers that a URL names, of which one is the primary and so the store. */
export function createServers(url: string) {
  const urls = serversOf(url);
  let primary = 0;

  /**
   * Hands the servers to `open` in turn, the one where it succeeded last first, until it succeeds.
   * @throws what it threw for the last of them; a {@link StoreMisconfigured} of any rather than that.
   */
  async function connect<T>(open: (url: string) => Promise<T>): Promise<T> {
    const first = primary;
    let failure: unknown;
    for (const offset of urls.keys()) {
      const place = (first + offset) % urls.length;
      try {
        const opened = await open(urls[place]!);
        primary = place;
        return opened;
      } catch (error) {
        if (!(storeError(failure, 'session') instanceof StoreMisconfigured)) failure = error;
      }
    }
    throw failure;
  }

  return {
    connect,
    /** A connection for itself, which does not count as one of a lane. The caller ends it. */
    connectOnce: (settings: Omit<pg.ClientConfig, 'connectionString'>): Promise<pg.Client> =>
      connect(async (connectionString) => {
        const client = new pg.Client({ ...settings, connectionString, types: columnTypes });
        client.on('error', () => undefined); // the query in flight rejects
        try {
          await client.connect();
          const question = { text: standbyQuery, query_timeout: settings.connectionTimeoutMillis };
          refuseStandby((await client.query(question)).rows[0].is_standby);
          return client;
        } catch (error) {
          await client.end().catch(() => undefined);
          throw error;
        }
      }),
  };
}

export const standbyQuery = 'select pg_is_in_recovery() as is_standby';

/**
 * A server cannot become a standby while it keeps a connection open, so it is asked once for each.
 * @param is_standby as {@link columnTypes} reads it.
 * @throws {NotPrimary}
 */
export function refuseStandby(is_standby: number): void {
  if (is_standby === 1) throw new NotPrimary(standbySentence);
}
