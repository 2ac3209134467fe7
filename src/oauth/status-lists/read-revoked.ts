import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../../platform/clock.ts';
import type { OneDb } from '../../platform/db/db.ts';
import { schemaOf, workIn } from '../../platform/db/parts.ts';
import { inSlicesBy } from '../../platform/db/slices.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { urgentPace } from '../../platform/pace.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import {
  type BulkRevocation,
  bulkRevocationsAfter,
  type ClientPlace,
  endedClientsAfter,
} from '../grants/bulk-revocations.store.ts';
import { openRevokedIndexes, type RevokedIndexes } from './revoked-indexes.ts';
import {
  type CoveredPlace,
  coveredGrantsAfter,
  type RevokedPlace,
  revokedGrantsAfter,
  revokedTokensAfter,
  type TokenPlace,
  tolerance,
} from './store.ts';

/** How old the knowledge of what is revoked may be when a list is asked for. */
const readEveryMs = 5_000;
/** So long after a list was asked for, it is kept up to date without being asked for, so that no mass revocation is noticed late. */
const inUseMs = 600_000;
/** How long a list waits for the grants of a mass revocation that has just been seen. What is left shows in the next one. */
const awaitedMs = 1_000;
/** As long as a statement may take that began before a mass revocation, and may be issuing a token. */
const settledMs = 10_000;
/**
 * Rows of one read. It may wait for what a job has just written, which takes longer than to read some hundred rows, a microsecond or two each. So
 * it has no fewer for that.
 */
const sizes = { most: 4000, fewest: 1000 };
/** A row of what was deleted has the indexes of a whole slice of grants, hundreds of kilobytes. */
const sizesOfDeleted = { most: 100, fewest: 5 };

/**
 * What is revoked by now. A process reads all of the last hour once, and then what is new every few seconds, so that neither takes longer the
 * more is revoked. The grants of a mass revocation are read by what revokes them, once or twice, and not by the slices in which a job writes
 * it on their rows; beside all else, so that no other revocation waits for them.
 */
export function keepRevoked(deps: StoreDeps) {
  const { db, clock } = deps;
  const revoked = openRevokedIndexes();
  const parts = new Map<string, PartReader>();
  const closing = new AbortController();
  let readAt: number | undefined;
  let readUntil = 0;
  let reading: Promise<void> | undefined;
  let askedAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function readNew(): Promise<void> {
    const at = clock();
    const isKnown = readAt !== undefined && at >= readAt && at - readAt < tolerance * 1000;
    // The last look was long ago: a mass revocation may have begun at any time since.
    const isLate = !isKnown || at - readUntil > 2 * readEveryMs;
    const oldest = now({ clock }) - accessTokenSeconds - tolerance;
    const since = isKnown ? Math.floor(readAt! / 1000) - tolerance - 1 : oldest;
    revoked.forget(oldest);
    await workIn(db.parts, (part) =>
      parts
        .getOrInsertComputed(schemaOf(part), () => readerOf(deps, revoked, closing.signal))
        .read(part, { since, oldest, isLate }),
    );
    revoked.publish();
    readAt = at;
    readUntil = clock();
  }

  function readOnce(): Promise<void> {
    reading ??= readNew().finally(() => {
      reading = undefined;
      clearTimeout(timer);
      if (!closing.signal.aborted && clock() - askedAt < inUseMs) {
        timer = setTimeout(() => void readOnce().catch(() => undefined), readEveryMs).unref();
      }
    });
    return reading;
  }

  return {
    /** @throws {StoreUnavailable} also if one part of the store is away: without it the list would call its tokens valid. */
    async upToDate(): Promise<void> {
      askedAt = clock();
      const age = readAt === undefined ? Number.POSITIVE_INFINITY : askedAt - readAt;
      if (age < 0 || age >= readEveryMs) await readOnce();
    },
    editionOf: revoked.editionOf,
    bitsOf: revoked.bitsOf,
    async close(): Promise<void> {
      closing.abort();
      clearTimeout(timer);
      await reading?.catch(() => undefined);
    },
  };
}

type PartReader = ReturnType<typeof readerOf>;
type Range = { since: number; oldest: number; isLate: boolean };

/** What has been read of a mass revocation. */
type Seen = { seenAt: number; begunAt: number | undefined };

/** Of one part of the store. */
function readerOf({ clock }: StoreDeps, revoked: RevokedIndexes, signal: AbortSignal) {
  const seen = new Map<string, Seen>();
  /** Two lanes, so that the few grants of a user do not wait for the many of a client. */
  const lanes = { user: laneOf(), client: laneOf() };

  function laneOf() {
    const waiting = new Map<string, BulkRevocation>();
    let working: Promise<void> | undefined;
    let hasFailed = false;
    async function work(part: OneDb): Promise<void> {
      for (const [key, revocation] of waiting) {
        const of = seen.get(key);
        const before = of?.begunAt;
        if (of) of.begunAt = clock();
        try {
          await readCovered(part, revocation);
          waiting.delete(key);
        } catch (error) {
          if (of) of.begunAt = before;
          hasFailed = true;
          throw error;
        }
        revoked.publish();
      }
      hasFailed = false;
    }
    return {
      add: (key: string, revocation: BulkRevocation) => waiting.set(key, revocation),
      hasFailed: () => hasFailed,
      work(part: OneDb): Promise<void> {
        working ??= work(part).finally(() => {
          working = undefined;
        });
        return working;
      },
    };
  }

  /** Each slice begins after the last row of the one before. */
  const readAll = <Row extends Place, Place>(
    from: Place,
    slice: (after: Place, rows: number) => Promise<Row[]>,
    use: (row: Row) => void,
    { most, fewest } = sizes,
  ) => {
    let after = from;
    return inSlicesBy(
      urgentPace.slices(most, fewest),
      async (rows) => {
        const some = await slice(after, rows);
        for (const row of some) use(row);
        after = some.at(-1) ?? after;
        return some.length;
      },
      signal,
    );
  };

  const addRefs = (row: { status_refs: string | null; status_refs_before: string | null }, at: number) => {
    if (row.status_refs !== null) revoked.add(row.status_refs, at);
    if (row.status_refs_before !== null) revoked.add(row.status_refs_before, at);
  };

  const readCovered = (part: OneDb, revocation: BulkRevocation) =>
    readAll(
      { created_at: 0, grant_id: '' } as CoveredPlace,
      (after, rows) => coveredGrantsAfter(part, revocation, after, now({ clock }), rows),
      (row) => addRefs(row, revocation.ended_at),
    );

  async function findMass(part: OneDb, oldest: number): Promise<void> {
    const found = new Set<string>();
    const note = (revocation: BulkRevocation) => {
      const { ending_id, ended_at } = revocation;
      const key = `${ending_id} ${ended_at}`; // a client may be suspended, reinstated, and deleted
      found.add(key);
      const at = clock();
      const of = seen.getOrInsertComputed(key, () => ({ seenAt: at, begunAt: undefined }));
      // What was issuing a token when it came may have written it after the first reading.
      const settled = Math.min(of.seenAt + settledMs, ended_at * 1000 + tolerance * 1000 + settledMs);
      if (of.begunAt !== undefined && (of.begunAt >= settled || at < settled)) return;
      lanes[revocation.user_id === null ? 'client' : 'user'].add(key, revocation);
    };
    const byId = (after: string, rows: number) => bulkRevocationsAfter(part, oldest, after, rows);
    await readAll({ ending_id: '' }, ({ ending_id }, rows) => byId(ending_id, rows), note);
    const ended = (after: ClientPlace, rows: number) => endedClientsAfter(part, after, rows);
    await readAll({ ended_at: oldest, ending_id: '' }, ended, note);
    for (const key of seen.keys()) if (!found.has(key)) seen.delete(key);
  }

  return {
    async read(part: OneDb, { since, oldest, isLate }: Range): Promise<void> {
      const at = now({ clock });
      await readAll(
        { revoked_at: since, grant_id: '' } as RevokedPlace,
        (after, rows) => revokedGrantsAfter(part, after, at, rows),
        (row) => addRefs(row, row.revoked_at),
      );
      await findMass(part, oldest);
      const mass = Promise.all([lanes.user.work(part), lanes.client.work(part)]);
      // A failure that came after its time is repeated, and reported, now.
      const isAwaited = isLate || lanes.user.hasFailed() || lanes.client.hasFailed();
      await (isAwaited ? mass : Promise.race([mass, sleep(awaitedMs, undefined, { ref: false })]));
      // After the grants: one that is deleted meanwhile leaves its indexes here.
      await readAll(
        { noted_at: since, jti: '' } as TokenPlace,
        (after, rows) => revokedTokensAfter(part, after, rows),
        ({ status_refs, noted_at }) => revoked.add(status_refs, noted_at),
        sizesOfDeleted,
      );
    },
  };
}
