import pg, { DatabaseError } from 'pg';
import {
  ForeignKeyViolation,
  NotPrimary,
  OutcomeUnknown,
  type Step,
  StoreMisconfigured,
  StoreUnavailable,
  UniqueViolation,
} from './engine.ts';

// SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Classes that say "not now" or "this server is broken", not "wrong SQL". */
const unanswerableClasses = new Set([
  '08', // connection exception
  '40', // transaction rollback, once the retries are used up
  '53', // insufficient resources
  '57', // operator intervention: cancelled, timed out, shutting down
  '58', // system error
  'F0', // the server cannot read its configuration
  'XX', // internal error, corrupted data
]);
const unanswerable = new Set([
  '25006', // read only
  '25P03', // idle in transaction too long
  '25P04', // transaction too long, if the operator bounds it
  '26000', // see lostItsPreparation; once the retries are used up
  '42P05',
  '55000', // the database takes no connections, or is being dropped
  '55006', // it is in use by a command of the operator
  '55P03', // lock not available
]);

const refusesSession = new Set([
  '28000', // authorization and password refused: the operator may change them while we run
  '28P01',
  '3D000', // no such database
]);

/** Of a table, a column or a schema, all of which a start makes: who took it away was not we. */
const missing = new Set(['42P01', '42703', '3F000']);

/**
 * An error is the server's word that a statement was rolled back, except for these: the server, or a proxy in front of
 * it, ends the connection and may do so between a commit and its reply.
 */
const unsettled = new Set([
  '40003', // statement completion unknown
  '57P01', // terminated by an administrator
  '57P02', // another process of the server crashed
  '57P03',
]);
const hasUnknownOutcome = (state: string): boolean => unsettled.has(state) || state.startsWith('08');

/**
 * What the driver threw, in the words of `Db`.
 * @param sent what was on the wire by then: the start of a session, nothing, something that only reads, or a change.
 * @param role of the session.
 * @returns {StoreUnavailable}, {OutcomeUnknown}, {UniqueViolation} or {ForeignKeyViolation} with the driver's error as
 * cause; another SQLSTATE, such as a syntax error, is ours to fix and comes back as it is. An error without SQLSTATE is
 * the connection's.
 */
export function storeError(
  error: unknown,
  sent: 'session' | 'nothing' | 'read' | 'change' = 'nothing',
  role?: string,
): unknown {
  if (error instanceof StoreUnavailable || error instanceof RangeError) return error;
  const state = sqlState(error);
  if (sent === 'change' && (state === undefined || hasUnknownOutcome(state))) {
    return new OutcomeUnknown('The connection to PostgreSQL was lost before it confirmed the change.', {
      cause: error,
    });
  }
  if (state === undefined) return new StoreUnavailable('The connection to PostgreSQL failed.', { cause: error });
  if (state === '23505') return new UniqueViolation('A unique index refused the change.', { cause: error });
  if (state === '23503') return new ForeignKeyViolation('A foreign key refused the change.', { cause: error });
  if (state === '42501') return new StoreMisconfigured(deniedPermission(role), { cause: error });
  // A migration that finds no table has made a mistake of its own.
  if (missing.has(state) && sent !== 'nothing') return new StoreMisconfigured(missingTable, { cause: error });
  // The wire protocol's way to say that what a session begins with is not passed on.
  if (state === '08P01' && /startup parameter/.test(String(error))) {
    return new StoreMisconfigured(needsSessions, { cause: error });
  }
  if (unanswerable.has(state) || unanswerableClasses.has(state.slice(0, 2)) || isStalePlan(error) || isWornOut(error)) {
    return new StoreUnavailable('PostgreSQL did not respond.', { cause: error });
  }
  // Whatever else a session begins with is the operator's: a setting in the URL or of the role that is none, or out of range.
  if (sent === 'session' || refusesSession.has(state)) {
    return new StoreMisconfigured('PostgreSQL refused the connection.', { cause: error });
  }
  return error;
}

/** An error that came before the commit of its transaction could: nothing of it was kept, even if the server went away. */
export function settledError(error: DatabaseError, isBegin: boolean): Error {
  // "Cannot set transaction read-write mode during recovery".
  if (isBegin && error.code === '0A000') return new NotPrimary(standbySentence, { cause: error });
  return hasUnknownOutcome(error.code ?? '')
    ? new StoreUnavailable('PostgreSQL ended the connection before the commit.', { cause: error })
    : error;
}

/** Classes of errors that end a statement wherever it runs: its data, a constraint, its text, or that it may only read. */
const decided = new Set(['0A', '21', '22', '23', '25', '26', '42']);

/**
 * An error of a server that may have passed the statement on to another one, where it is a transaction of its own: that one may have
 * kept it, whatever this one says (Citus: a timeout, a lost connection, a deadlock).
 */
export const relayedError = (error: unknown): unknown =>
  error instanceof DatabaseError && !decided.has((error.code ?? '').slice(0, 2))
    ? new OutcomeUnknown('PostgreSQL may have passed the change on before it failed.', { cause: error })
    : error;

/** Serialization failure and deadlock: the server took everything back and asks to be asked again. */
export const wasRolledBackByRace = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '');

/**
 * Another node's migration changed the columns of a `returning *`: "cached plan must not change result type". Nothing
 * was executed, and this connection will say the same of that statement for ever. Other uses of the code are our fault.
 */
export const isStalePlan = (error: unknown): boolean =>
  sqlState(error) === '0A000' && error instanceof DatabaseError && error.routine === 'RevalidateCachedQuery';

/**
 * Statements in a pipeline share one preparation. When the one that carried it failed, those behind it find no such
 * statement, or one that another has just made again. Nothing was executed. Asked again with a preparation of its own, each
 * has its own answer: where the statement itself is refused, as of a table that is elsewhere by now, all of them learn so.
 */
export const lostItsPreparation = (error: unknown): boolean => ['26000', '42P05'].includes(sqlState(error) ?? '');

/** No transaction is given a number any more, until the operator has vacuumed. Its code stands for values that are too long, too. */
const isWornOut = (error: unknown): boolean =>
  sqlState(error) === '54000' &&
  error instanceof DatabaseError &&
  /^GetNew(?:Transaction|MultiXact)Id$/.test(`${error.routine}`);

/** Whether a step that raised this has refused the change, as it may: a requirement or `mustChange` divides by zero. */
export function isRefusal(step: Step, error: unknown): boolean {
  const state = sqlState(error);
  if (state === '22012') return step.isRequirement === true || step.mustChange === true;
  return state === '23505' && step.mayConflict === true;
}

const sqlState = (error: unknown): string | undefined => (error instanceof DatabaseError ? error.code : undefined);

export const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006';

export const standbySentence =
  'SIGNET_DATABASE_URL leads to a standby of PostgreSQL, which takes no changes and may not know the newest ones. It has to lead to the primary.';

/** @param role as PostgreSQL names it, if that is known. */
function deniedPermission(role: string | undefined): string {
  const name = role === undefined || /^[a-z_][a-z0-9_]*$/.test(role) ? role : `"${role.replaceAll('"', '""')}"`;
  const [subject, grantee] = name === undefined ? ['of SIGNET_DATABASE_URL', 'it'] : [name, name];
  return `The role ${subject} lacks a permission in PostgreSQL. As the owner of Signet's tables: grant all on schema public to ${grantee}; grant all on all tables in schema public to ${grantee};`;
}

const missingTable =
  'A table or column of Signet is missing in the database of SIGNET_DATABASE_URL. It was removed or renamed, it is being restored, or search_path leads elsewhere. Stop every server while a database is restored; the next start brings an older one up to date.';

export const needsSessions =
  'SIGNET_DATABASE_URL points to a connection pooler without session pooling (for example PgBouncer with pool_mode transaction or statement, or with startup parameters that it rejects or ignores). Signet pools a few connections itself and prepares its statements on them: use the address of PostgreSQL itself.';

/**
 * Columns as SQLite would give them, so that a store reads the same from both: `bigint` and `numeric` (what `sum`
 * makes of bigints) as number, boolean expressions such as `exists (…)` as 1 and 0. The rest as `pg` does.
 */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

const parsers = new Map<number, (text: string) => number>([
  [pg.types.builtins.INT8, exactInteger],
  [pg.types.builtins.NUMERIC, Number],
  [pg.types.builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
]);

/** @throws {RangeError} rather than round, as `node:sqlite` does. */
function exactInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`A stored integer is too large for a number: ${text}`);
  return number;
}
