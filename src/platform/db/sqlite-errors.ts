import { ForeignKeyViolation, OutcomeUnknown, StoreUnavailable, UniqueViolation } from './engine.ts';

/** Primary result codes (https://sqlite.org/rescode.html) that say "not now" or "this file is broken", not "wrong SQL". */
// PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOLFS, NOTADB
const unanswerable = new Set([3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26]);

/** Extended codes of a refused duplicate: PRIMARYKEY, UNIQUE, ROWID. */
const duplicate = new Set([1555, 2067, 2579]);
/** FOREIGNKEY. */
const orphan = 787;

/**
 * What the engine threw, in the words of `Db`: {@link StoreUnavailable}, {@link UniqueViolation} or
 * {@link ForeignKeyViolation}. Any other error, such as one of syntax, is ours to fix and comes back as it is.
 */
export function storeError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (duplicate.has(code)) return new UniqueViolation('A unique index refused the change.', { cause: error });
  if (code === orphan) return new ForeignKeyViolation('A foreign key refused the change.', { cause: error });
  if (unanswerable.has(code & 0xff)) return new StoreUnavailable('SQLite did not respond.', { cause: error });
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
