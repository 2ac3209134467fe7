import { presentUsers } from '../accounts/statements.ts';
import type { Attribute } from '../attributes/attribute.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Problem } from '../imports/read-user.ts';
import { findImported, importKey, undoEverything } from '../imports/statements.ts';
import { isTakenClaim } from '../platform/claims.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange, type Writes } from '../platform/db/change.ts';
import { type Part, StoreUnavailable } from '../platform/db/db.ts';
import type { ExportedRecord } from '../platform/db/exported-table.ts';
import type { TransferDeps } from './deps.ts';
import { kindOf } from './kinds/all.ts';
import type { ImportOptions, Kind, Reference, StoredKind } from './kinds/kind.ts';
import { importedAmong, noteImported, recordKey } from './store.ts';

/** What has become of a record. `unchanged`: an import of the same store has had it before. */
export type RecordOutcome =
  | { status: 'imported'; dropped: readonly Problem[] }
  | { status: 'unchanged' }
  | { status: 'left_out' | 'refused'; problems: readonly Problem[] };

export type Importing = ImportOptions & {
  /** Where the file comes from. Records are remembered with it, so another import of that store continues. */
  source: string;
  caller: Caller;
  /** Changes nothing, and finds out what would be. */
  dryRun: boolean;
  trial: Trial;
};

/**
 * What a dry run knows of records that others refer to, of which none is there. There may be millions of users, so of them it keeps the
 * exceptions.
 */
export type Trial = {
  stored: Set<string>;
  refusedUsers: Set<string>;
  /** Those of the file, by which the values of users are read. */
  attributes: Attribute[];
};

type Stored = Kind & StoredKind;
type Entry = { place: number; record: ExportedRecord; id: string; key: string };
type Decide = (entry: Pick<Entry, 'place'>, outcome: RecordOutcome) => void;

const problem = (path: string, message: string): readonly Problem[] => [{ path, message }];

/**
 * Stores records of one kind in one change, with a note of each and the event that reports them: after a crash all of them are there or
 * none. One that cannot be stored is left out, and the others are stored.
 * @returns an outcome for each, in order.
 */
export async function importBatch(
  deps: TransferDeps,
  importing: Importing,
  kind: Stored,
  records: readonly ExportedRecord[],
): Promise<RecordOutcome[]> {
  const outcomes: RecordOutcome[] = [];
  const decide: Decide = ({ place }, outcome) => {
    outcomes[place] = outcome;
  };
  const entries = readEntries(deps, importing, kind, { records, decide });
  const fresh = await leaveOutKnown(deps, kind, entries, decide);
  const whole = await leaveOutDangling(deps, importing, { kind, entries: fresh, decide });
  for (const [part, some] of Map.groupBy(whole, ({ record }) => kind.stored.partOf(deps.db, record))) {
    let left = some;
    while (left.length > 0) {
      const failed = await storeIn(deps, importing, kind, { part, entries: left });
      if (failed === undefined) {
        for (const entry of left) decide(entry, { status: 'imported', dropped: [] });
        break;
      }
      left = left.filter((entry) => entry !== failed.entry);
      if (failed.isKnown) decide(failed.entry, { status: 'unchanged' });
      else decide(failed.entry, { status: 'refused', problems: problem('', kind.stored.takenMessage) });
    }
  }
  const stored = records.filter((_, place) => outcomes[place]?.status === 'imported');
  if (importing.dryRun && kind.stored.isReferredTo) {
    for (const record of stored) importing.trial.stored.add(keyOf(kind.name, kind.idOf(record)));
    if (kind.name === 'attribute') importing.trial.attributes.push(...(stored as readonly unknown[] as Attribute[]));
  }
  if (!importing.dryRun && stored.length > 0) kind.stored.done(deps);
  return outcomes;
}

const keyOf = (kind: string, id: string): string => `${kind}\n${id}`;

/** Those that can be stored at all. */
function readEntries(
  deps: TransferDeps,
  importing: Importing,
  kind: Stored,
  { records, decide }: { records: readonly ExportedRecord[]; decide: Decide },
): Entry[] {
  return records.flatMap((record, place) => {
    const problems = problemsOf(deps, kind, record);
    const omission = problems.length > 0 ? undefined : kind.stored.omission(record, importing, deps);
    if (problems.length > 0) decide({ place }, { status: 'refused', problems });
    else if (omission) decide({ place }, { status: 'left_out', problems: problem('', omission) });
    else {
      const id = kind.idOf(record);
      return [{ place, record, id, key: recordKey(importing.source, kind.name, id) }];
    }
    return [];
  });
}

function problemsOf(deps: TransferDeps, { shape, stored }: Stored, record: ExportedRecord): readonly Problem[] {
  if (!shape.check(record)) return shape.problems(record);
  if (hasNul(record)) return problem('', 'Contains a character that no text can have (NUL).');
  return stored.problems(deps, record).map(({ path, message }) => ({ path, message }));
}

/** PostgreSQL stores no NUL. Within JSON it is written in another way, so members of members do not matter. */
const hasNul = (record: ExportedRecord): boolean =>
  Object.values(record).some((value) =>
    (Array.isArray(value) ? value.flatMap((one) => (isRow(one) ? Object.values(one) : [one])) : [value]).some(
      (one) => typeof one === 'string' && one.includes('\0'),
    ),
  );
const isRow = (value: unknown): value is object => typeof value === 'object' && value !== null;

async function leaveOutKnown({ db }: TransferDeps, kind: Stored, entries: Entry[], decide: Decide): Promise<Entry[]> {
  if (entries.length === 0) return [];
  const [known, taken] = await Promise.all([
    importedAmong(
      db,
      entries.map(({ key }) => key),
    ),
    kind.stored.taken(
      db,
      entries.map(({ id }) => id),
    ),
  ]);
  const seen = new Set<string>();
  return entries.filter((entry) => {
    if (known.has(entry.key)) decide(entry, { status: 'unchanged' });
    else if (taken.has(entry.id)) decide(entry, { status: 'refused', problems: problem('', kind.stored.takenMessage) });
    else if (seen.has(entry.id)) decide(entry, { status: 'refused', problems: problem('', 'Is in the file twice.') });
    else {
      seen.add(entry.id);
      return true;
    }
    return false;
  });
}

/** What refers to a record that was not imported, or is no longer here: what has its ID by chance must not get it. */
async function leaveOutDangling(
  deps: TransferDeps,
  importing: Importing,
  { kind, entries, decide }: { kind: Stored; entries: Entry[]; decide: Decide },
): Promise<Entry[]> {
  const wanted = entries.map((entry) => ({ entry, references: kind.stored.references(entry.record) }));
  const byKind = Map.groupBy(
    wanted.flatMap(({ references }) => references),
    (reference) => reference.kind,
  );
  const there = new Set<string>();
  for (const [name, references] of byKind) {
    const ids = [...new Set(references.map(({ id }) => id))];
    for (const id of await presentAmong(deps, importing, name, ids)) there.add(keyOf(name, id));
  }
  const isThere = ({ kind: name, id }: Reference) => there.has(keyOf(name, id));
  const { dryRun, trial } = importing;
  const wouldBe = ({ kind: name, id }: Reference) =>
    dryRun && (kindOf.get(name)?.stored ? trial.stored.has(keyOf(name, id)) : !trial.refusedUsers.has(id));
  return wanted.flatMap(({ entry, references }) => {
    const absent = references.filter((one) => !isThere(one));
    const dangling = absent.find((one) => !wouldBe(one));
    if (dangling) {
      const message = `Its ${dangling.kind} was not imported from this file, or is no longer here.`;
      decide(entry, { status: kind.stored.dangling, problems: problem(dangling.path, message) });
    } else if (absent.length > 0) decide(entry, { status: 'imported', dropped: [] });
    else return [entry];
    return [];
  });
}

async function presentAmong(
  { db }: TransferDeps,
  { source }: Importing,
  name: string,
  ids: readonly string[],
): Promise<string[]> {
  const { stored } = kindOf.get(name)!;
  const noteOf = (id: string) => (stored ? recordKey(source, name, id) : importKey(source, id));
  const keys = ids.map(noteOf);
  const [imported, existing] = stored
    ? await Promise.all([importedAmong(db, keys), stored.existing(db, ids)])
    : await Promise.all([
        findImported(db, keys).then((users) => new Set(users.map(({ import_key }) => import_key))),
        presentUsers(db, ids),
      ]);
  return ids.filter((id) => existing.has(id) && imported.has(noteOf(id)));
}

const tried = 'tried';

/**
 * Records of one part. Notes that are elsewhere follow: a record of which a crash has left none is refused when the import is repeated.
 * @returns undefined if all are stored, or would be; else the one that was refused.
 */
async function storeIn(
  deps: TransferDeps,
  { source, caller, dryRun }: Importing,
  kind: Stored,
  { part, entries }: { part: Part; entries: readonly Entry[] },
): Promise<{ entry: Entry; isKnown: boolean } | undefined> {
  const at = now(deps);
  const after = { source, kind: kind.name, records: entries.length };
  const event = auditEvent({ action: 'store.imported', ...caller, after }, at);
  const change = { event_id: event.event_id, at, vault: deps.vault };
  const note = ({ place, key }: Entry): [string, Writes[string]] => [
    `note-${place}`,
    mayConflict(noteImported(key, at)),
  ];
  const isHere = ({ key }: Entry) => deps.db.of(key) === part;
  const writes = entries.flatMap((entry): [string, Writes[string]][] => [
    ...(isHere(entry) ? [note(entry)] : []),
    [`record-${entry.place}`, kind.stored.writes(deps, entry.record, change)],
  ]);
  const claimed = entries.map((entry) => ({ entry, by: kind.stored.claimsOf(deps, entry.record) }));
  const wanted = claimed.flatMap(({ by }) => by);
  const done = await deps.claims.holdingAll(wanted, (ticketOf) => {
    const run: Writes = {
      claims: wanted.flatMap(({ user_id }) => ticketOf(user_id) ?? []),
      ...Object.fromEntries(writes),
      event: event.statement,
      ...(dryRun && { [tried]: mustChange(undoEverything) }),
    };
    return part.change({ run });
  });
  if (done.ok) {
    const elsewhere = entries.filter((entry) => !isHere(entry));
    for (const [other, some] of Map.groupBy(elsewhere, ({ key }) => deps.db.of(key))) {
      await other.change({ run: Object.fromEntries(some.map(note)) });
    }
    return undefined;
  }
  if (done.failed === tried) return undefined;
  if (done.failed === 'claims') throw new StoreUnavailable('An import stood still for too long. Repeat it.');
  const taken = claimed.find(({ by }) => by.some((one) => isTakenClaim(done, one)));
  if (taken) return { entry: taken.entry, isKnown: false };
  const [, what, place] = /^(note|record)-(\d+)$/.exec(String(done.failed)) ?? [];
  const entry = entries.find((one) => one.place === Number(place));
  if (!entry) throw new Error(`A statement without a record has refused an import: ${String(done.failed)}`);
  return { entry, isKnown: what === 'note' };
}
