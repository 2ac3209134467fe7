import { StoreUnavailable } from './db.ts';
import { type Deadlines, type Lane, openLane } from './postgres-lane.ts';

/** Between two attempts to reach a server that was not there. */
const reconnectMs = 250;
/** Unanswered statements on one lane. At this depth the last one would miss its deadline. */
const deepestLane = 1_000;

export type Lanes = {
  /** @throws {StoreUnavailable} at once while the server is not there, or when every lane is full. */
  acquire(): Promise<Lane>;
  /**
   * Replaces every lane by a new connection, since what `lane` has found out is true of all; once for all statements
   * that find it out together. What is in flight is still answered by the old connections.
   */
  renew(lane: Lane): void;
  /** Resolves when the last reply is in. */
  close(): Promise<void>;
};

/**
 * At most `size` connections, opened as they are needed.
 * While the server is away only a timer tries to reach it: a request that tried would wait for the timeout, and so
 * would all behind it.
 */
export function createLanes(
  url: string,
  options: { use: 'statements' | 'batches'; size: number; deadlines: Deadlines },
): Lanes {
  const open = new Set<Lane>();
  const connecting = new Set<Promise<Lane>>();
  const ending = new Set<Promise<void>>();
  let away: unknown;
  let reconnecting: NodeJS.Timeout | undefined;
  let closed = false;

  function connect(): Promise<Lane> {
    const attempt = openLane(url, { ...options, onEnd: (lane) => open.delete(lane) })
      .then(arrived, failed)
      .finally(() => connecting.delete(attempt));
    connecting.add(attempt);
    return attempt;
  }

  function arrived(lane: Lane): Lane {
    away = undefined;
    open.add(lane);
    return lane;
  }

  function failed(error: unknown): never {
    away = error;
    if (!closed) reconnecting ??= setTimeout(reconnect, reconnectMs).unref();
    throw error;
  }

  function reconnect(): void {
    reconnecting = undefined;
    connect().catch(() => undefined); // `failed` has set the next attempt
  }

  function retire(lane: Lane): void {
    open.delete(lane);
    const goodbye: Promise<void> = lane.end().finally(() => ending.delete(goodbye));
    ending.add(goodbye);
  }

  return {
    async acquire() {
      const idlest = leastBusy(open);
      if (idlest?.inFlight === 0) return idlest;
      const mayGrow = away === undefined && open.size + connecting.size < options.size;
      if (idlest) {
        // Grows behind the back of this statement: a busy lane answers sooner than a connection opens.
        if (mayGrow) connect().catch(() => undefined);
        if (idlest.inFlight >= deepestLane) throw new StoreUnavailable('Too many statements are waiting.');
        return idlest;
      }
      if (away !== undefined) throw new StoreUnavailable('PostgreSQL cannot be reached.', { cause: away });
      return mayGrow ? connect() : Promise.any(connecting);
    },
    renew(found) {
      if (open.has(found)) for (const lane of open) retire(lane);
    },
    async close() {
      closed = true;
      clearTimeout(reconnecting);
      await Promise.allSettled(connecting);
      for (const lane of open) retire(lane);
      await Promise.all(ending);
    },
  };
}

function leastBusy(lanes: Iterable<Lane>): Lane | undefined {
  let idlest: Lane | undefined;
  for (const lane of lanes) {
    if (lane.inFlight === 0) return lane;
    if (!idlest || lane.inFlight < idlest.inFlight) idlest = lane;
  }
  return idlest;
}
