import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { NotPrimary, StoreMisconfigured, StoreUnavailable } from './engine.ts';
import { type Backend, type Lane, type LaneOptions, openLane } from './postgres-lane.ts';
import { isReadOnly, isStalePlan, standbySentence, storeError } from './postgres-results.ts';
import { type Servers, standbyQuery } from './postgres-servers.ts';

/** Between two attempts to reach a server that was not there. */
const reconnectMs = 250;
/** Unanswered statements on each lane that call for another one. Those of one request are fewer. */
export const deepEnough = 8;
/** Unanswered statements on one lane. At this depth the last one would miss its deadline. */
export const deepestLane = 1_000;

export type Lanes = ReturnType<typeof createLanes>;

/**
 * At most `size` connections, opened as they are needed. One that was abandoned with statements on the wire counts until
 * the server has no such backend any more: else a commit that waits for a standby would cost another backend every time
 * that a wait times out, until the server has none left.
 * While the server is away only a timer tries to reach it: a request would wait for the timeout, and all behind it, too.
 */
export function createLanes(
  servers: Servers,
  {
    size,
    abandoned,
    onStandby,
    ...options
  }: LaneOptions & {
    size: number;
    abandoned: Abandoned /** A lane has found itself at a standby. */;
    onStandby(): void;
  },
) {
  const open = new Set<Lane>();
  const connecting = new Set<Promise<Lane>>();
  const ending = new Set<Promise<void>>();
  /** No longer used, and not known to be gone. */
  const left = new Set<Lane>();
  let away: unknown;
  let reconnecting: NodeJS.Timeout | undefined;
  let closed = false;

  const events = {
    onEnd(lane: Lane, unanswered: boolean) {
      const wasInUse = open.delete(lane);
      if (unanswered && wasInUse) leave(lane);
    },
    onStall(lane: Lane) {
      open.delete(lane);
      leave(lane);
    },
    onSettled(lane: Lane) {
      left.delete(lane);
      abandoned.hasAnswered(lane);
      retire(lane);
    },
  };

  function leave(lane: Lane): void {
    if (closed) {
      lane.destroy();
      return;
    }
    left.add(lane);
    abandoned.add(lane, () => {
      left.delete(lane);
      lane.destroy();
    });
  }

  function connect(): Promise<Lane> {
    const attempt = servers
      .connect((url) => openLane(url, options, events))
      .then((lane) => {
        away = undefined;
        open.add(lane);
        return lane;
      }, failed)
      .finally(() => connecting.delete(attempt));
    connecting.add(attempt);
    return attempt;
  }

  function failed(error: unknown): never {
    away = error;
    const reconnect = () => {
      reconnecting = undefined;
      connect().catch(() => undefined); // which has set the next attempt
    };
    if (!closed) reconnecting ??= setTimeout(reconnect, reconnectMs).unref();
    throw storeError(error, 'session');
  }

  function retire(lane: Lane): void {
    open.delete(lane);
    // A connection that breaks while it says goodbye has nothing left to lose.
    const goodbye: Promise<void> = lane
      .end()
      .catch(() => undefined)
      .finally(() => ending.delete(goodbye));
    ending.add(goodbye);
  }

  function retireAll(): void {
    for (const lane of open) retire(lane);
  }

  const mayGrow = () => away === undefined && open.size + connecting.size + left.size < size;

  async function firstConnection(): Promise<void> {
    const refusal = storeError(away, 'session');
    if (refusal instanceof StoreMisconfigured || refusal instanceof NotPrimary) throw refusal;
    if (away !== undefined) throw new StoreUnavailable('PostgreSQL cannot be reached.', { cause: away });
    if (mayGrow()) await connect();
    else if (connecting.size > 0) await Promise.any(connecting);
    else throw new StoreUnavailable('PostgreSQL has not answered, and every connection is waiting for it.');
  }

  function pick(): Lane {
    const [first, ...others] = open;
    if (!first) throw new StoreUnavailable('The connection to PostgreSQL was lost.');
    const lane = others.reduce((best, other) => (other.inFlight < best.inFlight ? other : best), first);
    // Grows behind the back of this statement: a busy lane answers sooner than a connection opens.
    if ((lane.isBusy || lane.inFlight >= deepEnough) && mayGrow()) connect().catch(() => undefined);
    if (lane.inFlight >= deepestLane) throw new StoreUnavailable('Too many statements are waiting.');
    return lane;
  }

  return {
    /**
     * Hands the least busy lane to `question`. A lane that finds its plans stale takes all lanes out of use, so that
     * asking again asks a new connection.
     * @throws {StoreUnavailable} at once while the server is not there, or when every lane is full; what `question` does.
     */
    async use<Reply>(question: (lane: Lane) => Promise<Reply>): Promise<Reply> {
      if (options.use !== 'reads' && abandoned.waitForStandby()) {
        throw new StoreUnavailable(
          'PostgreSQL is waiting for a synchronous standby and accepts no changes at the moment.',
        );
      }
      if (open.size === 0) await firstConnection();
      // Nothing may be awaited between choosing a lane and writing to it: all requests of a turn would choose the same.
      const lane = pick();
      try {
        return await question(lane);
      } catch (error) {
        // Statements in flight together find it out together; only the first finds its lane still in use.
        if (isStalePlan(error) && open.has(lane)) retireAll();
        if (!(error instanceof NotPrimary) && !(isReadOnly(error) && (await isAtStandby(lane)))) throw error;
        if (open.has(lane)) onStandby();
        throw new NotPrimary(standbySentence, { cause: error });
      }
    },
    /** No statement is sent over the connections that are open now. */
    retireAll,
    /** Resolves when the last reply is in. */
    async close(): Promise<void> {
      closed = true;
      clearTimeout(reconnecting);
      await Promise.allSettled(connecting);
      retireAll();
      for (const lane of left) lane.destroy();
      await Promise.all(ending);
    },
  };
}

/** A primary may be read-only, too, for as long as its operator or its disk wants it. */
const isAtStandby = (lane: Lane): Promise<boolean> =>
  lane.run({ sql: standbyQuery }).then(
    ({ rows }) => rows[0]?.is_standby === 1,
    () => false,
  );

/** Between two looks at the server's processes, and the time that one may take. */
const lookMs = 500;
const lookTimeoutMs = 3_000;

type Abandoned = ReturnType<typeof createAbandoned>;

/**
 * Connections that we no longer use and whose backends may still be at work, most likely in a commit that waits for a
 * synchronous standby: nothing that a client can do ends that wait and leaves the commit uncertain no longer.
 * The server is watched over one connection, which is open only while there is something to look for.
 */
export function createAbandoned(servers: Servers) {
  const lanes = new Map<Lane, () => void>();
  const closing = new AbortController();
  const { signal } = closing;
  let blocked = false;
  let looking: Promise<void> | undefined;

  function forget(lane: Lane): void {
    lanes.delete(lane);
    if (lanes.size === 0) blocked = false;
  }

  async function look(): Promise<void> {
    while (lanes.size > 0 && !signal.aborted) {
      let client: pg.Client | undefined;
      try {
        client = await servers.connectOnce({ connectionTimeoutMillis: lookTimeoutMs, query_timeout: lookTimeoutMs });
        while (lanes.size > 0 && !signal.aborted) {
          await lookOnce(client);
          await pause();
        }
      } catch {
        await pause(); // the server cannot be reached, or does not answer: nothing is known
      } finally {
        await client?.end().catch(() => undefined);
      }
    }
  }

  async function lookOnce(client: pg.Client): Promise<void> {
    const asked = [...lanes.keys()];
    const { rows } = await client.query<Backend & { waits: number }>(query, [
      asked.map(({ backend }) => backend.pid),
      asked.map(({ backend }) => backend.started_at),
    ]);
    blocked = rows.some(({ waits }) => waits === 1);
    for (const lane of asked) {
      if (rows.some(({ pid }) => pid === lane.backend.pid)) continue;
      const gone = lanes.get(lane);
      forget(lane);
      gone?.();
    }
  }

  const pause = () => sleep(lookMs, undefined, { ref: false, signal }).catch(() => undefined);

  return {
    /** @param gone is called once, when the server has no such backend. */
    add(lane: Lane, gone: () => void): void {
      lanes.set(lane, gone);
      if (signal.aborted) return;
      looking ??= look().finally(() => {
        looking = undefined;
      });
    },
    hasAnswered: forget,
    /** Whether another commit would only wait behind these. */
    waitForStandby: () => blocked,
    async close(): Promise<void> {
      closing.abort();
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
