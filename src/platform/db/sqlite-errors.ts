import { ForeignKeyViolation, OutcomeUnknown, StoreUnavailable, UniqueViolation } from './engine.ts';

/** Primary result codes (https://sqlite.org/rescode.html) that say "not now" or "this file is broken", not "wrong SQL". */
const unanswerable: ReadonlyMap<number, string> = new Map([
  [2, 'SQLite failed.'], // INTERNAL
  ...[3, 8].map(
    (code) =>
      [code, 'The database cannot be written: its disk is read-only, or its owner or mode was changed.'] as const,
  ), // PERM, READONLY
  ...[5, 6, 9, 15, 17].map((code) => [code, 'SQLite did not respond.'] as const), // BUSY, LOCKED, INTERRUPT, PROTOCOL, SCHEMA
  [7, 'SQLite has no memory left.'], // NOMEM
  [10, 'The disk of the database failed.'], // IOERR
  ...[11, 26].map((code) => [code, 'The database file is damaged.'] as const), // CORRUPT, NOTADB
  [13, 'The disk of the database is full.'], // FULL
  [14, 'The database cannot be opened: its folder was removed, or its owner or mode was changed.'], // CANTOPEN
  [22, 'The file system of the database takes no file of this size.'], // NOLFS
]);

/** Extended codes of a refused duplicate: PRIMARYKEY, UNIQUE, ROWID. */
const duplicate = new Set([1555, 2067, 2579]);
/** FOREIGNKEY. */
const orphan = 787;
/** TRIGGER: of a store that was moved elsewhere, which has no others. */
const refusedByTrigger = 1811;

/**
 * What the engine threw, in the words of `Db`: {@link StoreUnavailable}, {@link UniqueViolation} or
 * {@link ForeignKeyViolation}. Any other error, such as one of syntax, is ours to fix and comes back as it is.
 */
export function storeError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (duplicate.has(code)) return new UniqueViolation('A unique index refused the change.', { cause: error });
  if (code === orphan) return new ForeignKeyViolation('A foreign key refused the change.', { cause: error });
  if (code === refusedByTrigger) return new StoreUnavailable('The store was moved, and is closed.', { cause: error });
  const sentence = unanswerable.get(code & 0xff);
  if (sentence !== undefined) return new StoreUnavailable(sentence, { cause: error });
  return error;
}

/**
 * What a `commit` threw. A deferred constraint leaves the transaction open, and a frame that could not be written leaves
 * the log without its commit mark, which is in the last one; either way nothing was kept. After any other failure, such
 * as that of the flush, the mark may be in the file, and a recovery would find it.
 */
export function commitError(error: unknown): StoreUnavailable {
  const code = resultCode(error);
  const isSettled = code !== undefined && (notWritten.has(code) || (code & 0xff) === 19 || isBusy(error));
  if (isSettled) return new StoreUnavailable('SQLite did not save the change.', { cause: error });
  return new OutcomeUnknown('SQLite could not confirm that the change is on disk.', { cause: error });
}
/** FULL, IOERR_WRITE. */
const notWritten = new Set([13, 778]);

/** Another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && ((code & 0xff) === 5 || (code & 0xff) === 6);
}

/** The extended result code, which `node:sqlite` puts in `errcode`. */
function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;
}
