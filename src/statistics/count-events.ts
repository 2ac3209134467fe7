import type { Deps } from '../audit/deps.ts';
import { type CountedEvent, countedEventsAfter, countUnsealed } from '../audit/statements.ts';
import { hourAfter, hourSeconds } from '../audit/unauthenticated.ts';
import { now } from '../platform/clock.ts';
import type { OneDb, Part } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { accountsChanged, countInSlices, countSlice, Tally } from './daily-counts.ts';
import { forgetActive, type Places, readPlaces } from './store.ts';
import { keepTotals } from './totals.ts';

/** What is counted of one part of the store, which has its own log, counts and places. */
type PartDeps = Pick<StoreDeps, 'clock'> & { db: OneDb };

/** Counts what the audit log has gained: sign-ins, new users and clients, who was active, and how many users a day began with. */
export async function countAuditEvents(
  deps: PartDeps & Pick<Deps, 'timekeeper'>,
  signal?: AbortSignal,
): Promise<boolean> {
  if (!(await countInSlices(deps, nextEvents(deps), signal))) return false;
  await keepTotals(deps);
  return true;
}

const nextEvents =
  (deps: PartDeps) =>
  async ({ audit_seq }: Pick<Places, 'audit_seq'>, rows: number) => {
    const events = await countedEventsAfter(deps.db, audit_seq, rows);
    const last = events.at(-1);
    return last && { to: { audit_seq: last.seq }, counted: countsOf(deps, events), isLast: events.length < rows };
  };

/** What a page counts at most before it is shown: the job counts a larger backlog. */
const forPage = { sealed: { batches: 4 }, slices: 4, rows: 250 };

/**
 * Counts what has happened until now, so that a page shows no number that its reader knows to be wrong.
 * @returns Unix seconds up to which all is counted, if that is not until now.
 */
export async function countForPage(deps: StoreDeps & Pick<Deps, 'auditLog'>): Promise<number | undefined> {
  await deps.auditLog.sealForReading(forPage.sealed);
  const untils = await askAll(deps.db, (part) => countPart({ clock: deps.clock, db: part }));
  const behind = untils.filter((until) => until !== undefined);
  return behind.length === 0 ? undefined : Math.min(...behind);
}

async function countPart(deps: PartDeps): Promise<number | undefined> {
  let isAll = false;
  for (let slice = 0; slice < forPage.slices && !isAll; slice += 1)
    isAll = await countSlice(deps, nextEvents(deps), forPage.rows);
  if (isAll && (await countUnsealed(deps.db)) === 0) return undefined;
  const { audit_seq = 0 } = (await readPlaces(deps.db)) ?? {};
  const [lastCounted] = await countedEventsAfter(deps.db, audit_seq - 1, 1);
  return lastCounted?.at ?? 0;
}

function countsOf(deps: Pick<StoreDeps, 'clock'>, events: readonly CountedEvent[]): Sql[] {
  const tally = new Tally(deps);
  const gone: string[] = [];
  let accounts = 0;
  for (const { at, action, actor, target } of events) {
    if (action === 'session.started') {
      tally.add('sign_in', at);
      tally.active(actor.replace('user:', ''), at);
    } else if (action === 'session.refused') {
      tally.add('refused', at);
    } else if (action === 'client.registered') {
      tally.add('client', at);
    } else if (action === 'user.created') {
      tally.add('sign_up', at);
      accounts += 1;
    } else if (action === 'user.deleted') {
      accounts -= 1;
      if (target !== null) gone.push(target);
    }
  }
  const changed = accounts === 0 ? [] : [accountsChanged(accounts)];
  return [...tally.statements(), ...gone.flatMap(forgetActive), ...changed];
}

/** An hour is counted this long after its end, when no node writes to it any more. */
const graceSeconds = 300;

/** Counts refused sign-ins from the unauthenticated events, an hour at a time. */
export function countRefusedSignIns(
  deps: Pick<StoreDeps, 'clock'> & { db: Part },
  signal?: AbortSignal,
): Promise<boolean> {
  return countInSlices(
    deps,
    async ({ hour }) => {
      const over = now(deps) - hourSeconds - graceSeconds;
      const found = await hourAfter(deps.db, hour, over);
      if (!found) return undefined;
      const tally = new Tally(deps);
      tally.add('refused', found.hour, { count: found.refused });
      return { to: { hour: found.hour + 1 }, counted: tally.statements(), isLast: false };
    },
    signal,
  );
}
