import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import type { OneDb, Part } from '../platform/db/db.ts';
import type { Sql } from '../platform/db/sql.ts';
import { tables } from '../platform/db/tables.ts';
import type { Deps } from '../platform/deps.ts';
import { pace } from '../platform/pace.ts';
import { type Vault, WrongMasterKey } from '../platform/vault.ts';
import { findHeads, replaceHead, storeAcceptance, storeHead } from './heads.store.ts';
import {
  type AuditRow,
  type ChainHead,
  type CheckedRow,
  chainHead,
  countUnsealed,
  outOfOrderSeconds,
  sealAt,
  sealedRows,
  sealRow,
  unsealedRows,
} from './store.ts';
import type { Head, Witness, WitnessedHead } from './witness.ts';

/** Of the chain in one part of the store: `witness` is of it alone. */
export type ChainDeps = Pick<Deps, 'clock' | 'vault'> & { readonly db: OneDb; readonly witness: Witness };

/** A batch has at most 50 events. An abort ends the sealing between two. */
export type SealBounds = { batches?: number; signal?: AbortSignal | undefined };

/** Called for the oldest event of a batch that is dated before {@link expectedSince}, when it has its place. */
export type OnBackdated = (event: AuditRow & { seq: number }) => void;

/** Before the first event. */
export const genesis: ChainHead = { seq: 0, seal: '', at: 0 };
/** On SQLite some milliseconds, in which nothing else is answered. */
const perBatch = 50;
/** A batch holds its events twice: the second time for the webhooks. */
const bytesPerBatch = 262_144;

/**
 * An event that is sealed now is hardly dated before this: ten minutes before the newest event in the chain and this node's clock.
 * By the chain alone, one node whose clock is ahead would make the events of all others seem old.
 */
const expectedSince = (deps: Pick<Deps, 'clock'>, newest: Pick<ChainHead, 'at'>): number =>
  Math.min(newest.at, now(deps)) - outOfOrderSeconds;

/** Sealed events were altered or removed. Nothing is sealed on top of that. */
export class AuditLogTampered extends Error {
  override name = 'AuditLogTampered';
  readonly loss: ChainFault;
  constructor(loss: ChainFault) {
    super(`Event ${loss.seq} of the audit log does not match its seal.`);
    this.loss = loss;
  }
}

/**
 * Gives every new event its place in the chain: a number without gaps, and a seal over the event and the seal before it.
 * The seal is an HMAC under a key that is not in the database, so an attacker with write access can break the chain and not
 * mend it. An event is written with its change and sealed within a second or so after: sealing it at once would make
 * every audited change of every node wait for the one before.
 *
 * So that altered events cannot be sealed anew, nothing is sealed on a chain that has lost sealed events (`findLoss`).
 * Whatever has no place gets one, whenever it is dated: a clock may be set in either direction between an event and its
 * sealing, and an event without a place would be in no list and in no webhook.
 *
 * Any node may seal at any time. Of two that seal the same events, or give different ones the same place, the later one's
 * change is refused.
 * @param onSeal statements to commit with the sealing of an event.
 * @param bounds after which the rest is left to a later call; without them all new events are sealed.
 * @returns how many were sealed.
 * @throws {AuditLogTampered} and seals nothing.
 */
export async function sealAuditLog(
  deps: ChainDeps,
  onSeal: (event: AuditRow) => readonly Sql[] = () => [],
  { batches = Number.POSITIVE_INFINITY, signal }: SealBounds = {},
  onBackdated: OnBackdated = () => undefined,
): Promise<number> {
  let sealed = 0;
  for (let batch = 0; batch < batches && !signal?.aborted; batch += 1) {
    // Another node may seal between the reads of the first look; a real loss is still there at the second.
    const loss = (await findLoss(deps)) && (await findLoss(deps));
    if (loss) throw new AuditLogTampered(loss);
    const newest = (await chainHead(deps.db)) ?? genesis;
    const found = await unsealedRows(deps.db, perBatch);
    const rows = firstOf(found);
    const [oldest] = rows;
    if (!oldest) return sealed;
    let last = newest;
    const events = rows.flatMap((row) => {
      last = { seq: last.seq + 1, seal: sealOf(deps, last, row), at: row.at };
      return [mayConflict(sealRow(row.event_id, last.seq, last.seal)), ...onSeal(row)];
    });
    const head = recordHead(deps.vault, last, Math.max(0, newest.at - oldest.at));
    const done = await deps.db.change({ run: { events, head: mustChange(head) } });
    if (!done.ok) return sealed; // another node is sealing these events, or has done so
    deps.witness.remember({ seq: last.seq, seal: last.seal, accepted: await acceptedLosses(deps) });
    sealed += rows.length;
    if (oldest.at < expectedSince(deps, newest)) onBackdated({ ...oldest, seq: newest.seq + 1 });
    if (found.length < perBatch && rows.length === found.length) return sealed;
  }
  return sealed;
}

/** As many as one batch may hold, and at least one. */
function firstOf(found: readonly AuditRow[]): AuditRow[] {
  let bytes = 0;
  return found.filter((row, index) => {
    bytes += Buffer.byteLength(`${row.before_state}${row.after_state}${row.reason}`);
    return index === 0 || bytes <= bytesPerBatch;
  });
}

/**
 * Whether the chain still holds every newest place that was ever vouched for: by this node's own witness, and by the
 * record in the database. While it does not, nothing is sealed.
 * @returns undefined while all is well.
 */
export async function findLoss(deps: Omit<ChainDeps, 'clock'>): Promise<ChainFault | undefined> {
  const { db, vault, witness } = deps;
  const seen = await witness.known(); // before the chain, which only grows
  const { recorded, accepted } = await readHeads(db, vault);
  const unvouched = async (why: 'head' | 'file'): Promise<ChainFault> => ({
    seq: ((await chainHead(db))?.seq ?? 0) + 1,
    why,
  });
  if (seen === 'unreadable') return unvouched('file');
  if (seen) {
    const lost = await missingEntry(db, seen);
    const isExcused = accepted !== undefined && accepted.accepted > seen.accepted;
    if (lost && !isExcused) return lost;
    // A node that had lost nothing takes note as well, or the same acknowledgement would excuse its next loss.
    if (isExcused) witness.replace(lost ? accepted : { ...seen, accepted: accepted.accepted });
  }
  if (recorded === 'forged') return unvouched('head');
  if (recorded === undefined) {
    if (seen) return undefined;
    const newest = await chainHead(db);
    // The first sealing may have been committed between the two looks.
    return newest === undefined || (await readHeads(db, vault)).recorded ? undefined : { seq: newest.seq, why: 'head' };
  }
  const lost = await missingEntry(db, recorded);
  if (!lost) witness.remember({ ...recorded, accepted: await acceptedLosses(deps) });
  return lost;
}

/** Whether the chain lacks the newest place that the database itself records. */
export async function isBroken({ db, vault }: Pick<ChainDeps, 'db' | 'vault'>): Promise<boolean> {
  const { recorded } = await readHeads(db, vault);
  if (recorded === undefined) return (await chainHead(db)) !== undefined;
  return recorded === 'forged' || (await missingEntry(db, recorded)) !== undefined;
}

/** How many losses were acknowledged, as far as the database and this node remember. */
export async function earlierLosses({ db, vault, witness }: Omit<ChainDeps, 'clock'>): Promise<number> {
  const seen = await witness.known();
  const known = seen === undefined || seen === 'unreadable' ? 0 : seen.accepted;
  return Math.max((await readHeads(db, vault)).accepted?.accepted ?? 0, known);
}

async function missingEntry(part: Part, { seq, seal }: Head): Promise<ChainFault | undefined> {
  if (seq === 0) return undefined;
  const found = await sealAt(part, seq);
  if (found === undefined) return { seq, why: 'missing' };
  return found === seal ? undefined : { seq, why: 'altered' };
}

/** Acknowledged losses so far: by this node's memory, or the database while it remembers none. */
async function acceptedLosses({ db, vault, witness }: Omit<ChainDeps, 'clock'>): Promise<number> {
  const seen = await witness.known();
  if (seen !== undefined && seen !== 'unreadable') return seen.accepted;
  return (await readHeads(db, vault)).accepted?.accepted ?? 0;
}

/** A list in JSON has one spelling, so two different events never have one seal, nor one event two in two chains. */
function sealedContent({ schema }: OneDb, before: Head, row: AuditRow): Buffer {
  const { event_id, at, action, actor, target, reason, before_state, after_state, address } = row;
  const event = [event_id, at, action, actor, target, reason, before_state, after_state, address];
  return Buffer.from(
    JSON.stringify([...(schema === undefined ? [] : [schema]), before.seq + 1, before.seal, ...event]),
  );
}

const sealOf = ({ db, vault }: ChainDeps, before: Head, row: AuditRow): string =>
  vault.mac('audit-log', sealedContent(db, before, row)).toString('base64url');

/** Also under a master key that was replaced since, for events of its time. */
const isSealed = ({ db, vault }: ChainDeps, before: Head, row: AuditRow & { seal: string }): boolean =>
  vault
    .macs('audit-log', sealedContent(db, before, row), { seq: before.seq + 1, schema: db.schema })
    .some((mac) => mac.toString('base64url') === row.seal);

/** The column by which a person finds it names whom the sealed state names; events of before that column have none. */
function isFoundAsSealed({ after_state, of_user }: CheckedRow): boolean {
  if (of_user === null) return true;
  const after: { user_id?: unknown } = JSON.parse(after_state ?? '{}');
  return of_user === after.user_id;
}

/**
 * `head`: the record of the newest place is gone or not ours. `file`: the file that keeps it outside the database cannot be
 * read. `unexpected`: another seal than the one given.
 */
export const chainFaults = ['missing', 'altered', 'head', 'file', 'unexpected'] as const;
export type ChainFault = { seq: number; why: (typeof chainFaults)[number] };

/** The result of a check. A log whose end was cut off has an older `head` than one that was kept elsewhere. */
export type ChainReport = {
  verified: number;
  head: Head;
  /** Events of the last moments that have no place yet. */
  unsealed: number;
  /** How often an event is dated more than ten minutes before the one that was sealed before it, and where this was last. */
  set_back: { times: number; last_seq: number | null };
  /** The first place where the chain is broken. */
  broken?: ChainFault;
  /** Its end, or the record of it, is lost: nothing is sealed until an operator acknowledges that. */
  stopped: boolean;
};

/**
 * Reads the whole log and computes every seal anew, a page at a time at the pace of the process. Writes nothing.
 * @param expected to be found in it.
 */
export async function verifyAuditLog(deps: ChainDeps, expected?: Head): Promise<ChainReport> {
  let last = genesis;
  const loss = await findLoss(deps); // before the chain, which only grows
  const set_back: ChainReport['set_back'] = { times: 0, last_seq: null };
  const report = async (broken?: ChainFault): Promise<ChainReport> => {
    const unsealed = await countUnsealed(deps.db);
    const head = { seq: last.seq, seal: last.seal };
    return { verified: last.seq, head, unsealed, set_back, broken, stopped: loss !== undefined };
  };
  const nextPage = async (limit: number): Promise<ChainFault | 'end' | undefined> => {
    const rows = await sealedRows(deps.db, last.seq, limit);
    for (const row of rows) {
      if (row.seq !== last.seq + 1) return { seq: last.seq + 1, why: 'missing' };
      if (!isSealed(deps, last, row) || !isFoundAsSealed(row)) return { seq: row.seq, why: 'altered' };
      if (row.seq === expected?.seq && row.seal !== expected.seal) return { seq: row.seq, why: 'unexpected' };
      if (row.at < last.at - outOfOrderSeconds) {
        set_back.times += 1;
        set_back.last_seq = row.seq;
      }
      last = { seq: row.seq, seal: row.seal, at: row.at };
    }
    return rows.length === 0 ? 'end' : undefined;
  };
  const runSlice = pace.slices();
  for (let found: ChainFault | 'end' | undefined; found !== 'end'; found = await runSlice(nextPage)) {
    if (found) return report(found);
  }
  if (expected && expected.seq > last.seq) return report({ seq: last.seq + 1, why: 'missing' });
  return report(loss?.why === 'missing' ? { seq: last.seq + 1, why: 'missing' } : loss);
}

const headPurpose = tables.audit_heads.sealed.sealed('head');
const acceptancePurpose = tables.audit_heads.sealed.sealed('accepted');

/**
 * The newest place of the chain, a second time in the database. It is sealed as a whole: an attacker with write access
 * may remove it or put an older one back, but cannot forge one.
 * @param behind by how many seconds an event of the batch is dated before one that was sealed earlier.
 */
const recordHead = (vault: Vault, { seq, seal }: Head, behind: number): Sql =>
  storeHead({ seq, seal }, vault.seal(headPurpose, JSON.stringify({ seq, seal })), behind);

/**
 * The heads that the database records, in one read, since every node asks each second. `recorded` is the newest place: undefined
 * if there is none, `forged` if it is not ours. `accepted` is the last loss that an operator has acknowledged: up to its
 * `seq` and `seal` the chain is taken as it is. Losses are counted, so that an old acknowledgement put back excuses none.
 */
export async function readHeads(
  part: Part,
  vault: Vault,
): Promise<{ recorded: Head | 'forged' | undefined; accepted: WitnessedHead | undefined }> {
  const kept = await findHeads(part);
  const head = kept.find(({ name }) => name === 'head');
  const recorded = head && unseal<Head>(vault, headPurpose, head.sealed);
  const acceptance = kept.find(({ name }) => name === 'accepted');
  return {
    recorded: head && (recorded?.seq === head.seq ? recorded : 'forged'),
    accepted: acceptance && unseal<WitnessedHead>(vault, acceptancePurpose, acceptance.sealed),
  };
}

/** For the batch of an acknowledgement: the record of the newest place is set back, too. */
export const recordAcceptedLoss = (vault: Vault, { seq, seal, accepted }: WitnessedHead): Sql[] => [
  storeAcceptance(accepted, vault.seal(acceptancePurpose, JSON.stringify({ seq, seal, accepted }))),
  replaceHead(seq, vault.seal(headPurpose, JSON.stringify({ seq, seal }))),
];

function unseal<T>(vault: Vault, sealedFor: string, sealed: string): T | undefined {
  try {
    return JSON.parse(vault.open(sealedFor, sealed)) as T;
  } catch (error) {
    if (error instanceof WrongMasterKey) return undefined;
    throw error;
  }
}
