import type { Db } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { inOneSlice } from '../../platform/db/slices.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { RequestId, UserId } from '../../platform/ids.ts';
import type { Method } from './authentication.ts';

/** A sign-in between its first factor and its second (decisions §3). */
export const pendingSignInSeconds = 600;

const PendingSignInRow = row('sign_in_attempts', {
  user_id: id<UserId>(),
  methods: text,
  request_id: nullable(id<RequestId>()),
  next: nullable(text),
});
type PendingSignInRow = RowOf<typeof PendingSignInRow>;

export type PendingSignIn = Omit<PendingSignInRow, 'methods'> & {
  /** The factors that were proved so far. */
  methods: Method[];
};

const toPendingSignIn = ({ user_id, methods, request_id, next }: PendingSignInRow): PendingSignIn => ({
  user_id,
  methods: methods.split(' ') as Method[],
  request_id,
  next,
});

const StoredPendingSignIn = row('sign_in_attempts', {
  attempt_hash: text,
  ...PendingSignInRow.fields,
  failures: integer,
  created_at: integer,
  expires_at: integer,
});

export function insertPendingSignIn(attempt_hash: string, pending: PendingSignIn, now: number): Sql {
  const stored = { ...pending, attempt_hash, methods: pending.methods.join(' ') };
  const times = { created_at: now, expires_at: now + pendingSignInSeconds };
  return sql`insert into sign_in_attempts ${StoredPendingSignIn.values({ ...stored, ...times, failures: 0 })}`;
}

/** `maxTries`: wrong codes that one sign-in allows. */
type OpenPendingSignIn = { attempt_hash: string; maxTries: number };

const isOpen = ({ attempt_hash, maxTries }: OpenPendingSignIn, now: number): Sql =>
  sql`attempt_hash = ${attempt_hash} and expires_at > ${now} and failures < ${maxTries}`;

export async function findPendingSignIn(
  db: Db,
  attempt: OpenPendingSignIn,
  now: number,
): Promise<PendingSignIn | undefined> {
  const found = await db.get(
    PendingSignInRow,
    sql`select ${PendingSignInRow.columns} from sign_in_attempts where ${isOpen(attempt, now)}`,
  );
  return found && toPendingSignIn(found);
}

const CountedPendingSignIn = row('sign_in_attempts', {
  ...PendingSignInRow.fields,
  failures: StoredPendingSignIn.fields.failures,
});

/** Consumes a try before the code is checked, so that simultaneous guesses cannot exceed the maximum. */
export async function consumeTry(
  db: Db,
  attempt: OpenPendingSignIn,
  now: number,
): Promise<(PendingSignIn & { triesLeft: number }) | undefined> {
  const { rows } = await db.run(
    CountedPendingSignIn,
    sql`update sign_in_attempts set failures = failures + 1 where ${isOpen(attempt, now)}
        returning ${CountedPendingSignIn.columns}`,
  );
  const [found] = rows;
  return found && { ...toPendingSignIn(found), triesLeft: attempt.maxTries - found.failures };
}

/** For the change that completes it, behind a lock: of two at once, only one still finds it. */
export const pendingSignInExists = (attempt_hash: string): Sql =>
  sql`exists (select 1 from sign_in_attempts where attempt_hash = ${attempt_hash})`;

export const deletePendingSignIn = (attempt_hash: string): Sql =>
  sql`delete from sign_in_attempts where attempt_hash = ${attempt_hash}`;

/** For a change of password or factors: a sign-in that began with the old ones has to start again. */
export const deletePendingSignInsOfUser = (user_id: UserId): Sql =>
  sql`delete from sign_in_attempts where user_id = ${user_id}`;

export const purgePendingSignIns = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    sql`delete from sign_in_attempts
         where ${inOneSlice('sign_in_attempts', 'attempt_hash', sql`expires_at < ${expiredBefore} order by expires_at`, rows)}`,
  );
