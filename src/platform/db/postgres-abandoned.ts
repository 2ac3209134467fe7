import pg from 'pg';
import type { Backend, Lane } from './postgres-lane.ts';
import { columnTypes } from './postgres-types.ts';

/** Between two looks at the server's processes, and the time that one may take. */
const lookMs = 500;
const lookPatienceMs = 3_000;

/**
 * Connections that we no longer use and whose backends may still be at work, most likely in a commit that waits for a
 * synchronous standby: nothing that a client can do ends that wait and leaves the commit uncertain no longer.
 */
export type Abandoned = {
  /** @param gone is called once, when the server has no such backend. */
  add(lane: Lane, gone: () => void): void;
  /** After all. */
  hasAnswered(lane: Lane): void;
  /** Another commit would only wait behind these. */
  waitForStandby(): boolean;
  close(): Promise<void>;
};

/** Looks at the server over one connection of its own, which is open only while there is something to look for. */
export function createAbandoned(url: string): Abandoned {
  const lanes = new Map<Lane, () => void>();
  let blocked = false;
  let closed = false;
  let looking: Promise<void> | undefined;
  let wake: () => void = () => undefined;

  function forget(lane: Lane): void {
    lanes.delete(lane);
    if (lanes.size === 0) blocked = false;
  }

  async function look(): Promise<void> {
    while (lanes.size > 0 && !closed) {
      const client = new pg.Client({
        connectionString: url,
        types: columnTypes,
        connectionTimeoutMillis: lookPatienceMs,
        query_timeout: lookPatienceMs,
      });
      client.on('error', () => undefined); // the query in flight rejects
      try {
        await client.connect();
        while (lanes.size > 0 && !closed) {
          await lookOnce(client);
          await pause();
        }
      } catch {
        await pause(); // the server cannot be reached, or does not answer: nothing is known
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  async function lookOnce(client: pg.Client): Promise<void> {
    const asked = [...lanes.keys()];
    const { rows } = await client.query<Backend & { waits: number }>(query, [
      asked.map(({ backend }) => backend.pid),
      asked.map(({ backend }) => backend.started_at),
    ]);
    const isThere = ({ backend }: Lane) => rows.some((row) => row.pid === backend.pid);
    blocked = rows.some(({ waits }) => waits === 1);
    for (const lane of asked) {
      const gone = lanes.get(lane);
      if (isThere(lane)) continue;
      forget(lane);
      gone?.();
    }
  }

  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookMs);
      timer.unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  return {
    add(lane, gone) {
      lanes.set(lane, gone);
      if (closed) return;
      looking ??= look().finally(() => {
        looking = undefined;
      });
    },
    hasAnswered: forget,
    waitForStandby: () => blocked,
    async close() {
      closed = true;
      wake();
      await looking;
    },
  };
}

/**
 * A backend that is idle has written a reply that did not reach us. It is ended, so that its place is free; one that is at
 * work is left alone, since ending a wait for a standby would let others see what a failover may take back.
 */
const query = `
  select a.pid, coalesce(a.wait_event, '') = 'SyncRep' as waits,
         case when a.state like 'idle%' then pg_terminate_backend(a.pid) end as ended
    from pg_stat_activity a join unnest($1::int[], $2::bigint[]) as ours (pid, started_at)
      on a.pid = ours.pid and (extract(epoch from a.backend_start) * 1000000)::bigint = ours.started_at`;
