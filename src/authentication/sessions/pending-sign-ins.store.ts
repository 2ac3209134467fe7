import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import type { Method } from './authentication.ts';

/** A sign-in between its first factor and its second (decisions §3). */
export const pendingSignInSeconds = 600;

export type PendingSignIn = {
  user_id: string;
  /** What has been proved so far. */
  methods: Method[];
  request_id: string | null;
  next: string | null;
};
type TakenTry = PendingSignIn & { triesLeft: number };
type PendingSignInRow = Omit<PendingSignIn, 'methods'> & { methods: string };

const toPendingSignIn = ({ user_id, methods, request_id, next }: PendingSignInRow): PendingSignIn => ({
  user_id,
  methods: methods.split(' ') as Method[],
  request_id,
  next,
});

export const insertPendingSignIn = (attempt_hash: string, attempt: PendingSignIn, now: number): Statement => ({
  sql: `insert into sign_in_attempts (attempt_hash, user_id, methods, request_id, next, failures, created_at, expires_at)
        values ($1, $2, $3, $4, $5, 0, $6, $7)`,
  params: [
    attempt_hash,
    attempt.user_id,
    attempt.methods.join(' '),
    attempt.request_id,
    attempt.next,
    now,
    now + pendingSignInSeconds,
  ],
});

/** `maxTries`: the wrong codes that one sign-in may give. */
type OpenPendingSignIn = { attempt_hash: string; maxTries: number };

const open = 'expires_at > $2 and failures < $3';

export async function findPendingSignIn(
  db: Db,
  { attempt_hash, maxTries }: OpenPendingSignIn,
  now: number,
): Promise<PendingSignIn | undefined> {
  const row = await db.get<PendingSignInRow>(
    `select user_id, methods, request_id, next from sign_in_attempts where attempt_hash = $1 and ${open}`,
    [attempt_hash, now, maxTries],
  );
  return row && toPendingSignIn(row);
}

/** Uses up one of its tries, before the code is looked at: of any number of guesses at once, so many are looked at. */
export async function consumeTry(
  db: Db,
  { attempt_hash, maxTries }: OpenPendingSignIn,
  now: number,
): Promise<TakenTry | undefined> {
  const { rows } = await db.run(
    `update sign_in_attempts set failures = failures + 1 where attempt_hash = $1 and ${open}
  returning user_id, methods, request_id, next, failures`,
    [attempt_hash, now, maxTries],
  );
  const row = rows[0] as (PendingSignInRow & { failures: number }) | undefined;
  return row && { ...toPendingSignIn(row), triesLeft: maxTries - row.failures };
}

/** For a batch that ends it: of two at once, and beside whatever else ends it, one still finds it. */
export const pendingSignInExists = (attempt_hash: string): Condition => ({
  sql: 'exists (select 1 from sign_in_attempts where attempt_hash = $1)',
  params: [attempt_hash],
});

export const deletePendingSignIn = (attempt_hash: string): Statement => ({
  sql: 'delete from sign_in_attempts where attempt_hash = $1',
  params: [attempt_hash],
});

/** For a change of password or of factors: whoever is half in by the old ones starts again. */
export const deletePendingSignInsOfUser = (user_id: string): Statement => ({
  sql: 'delete from sign_in_attempts where user_id = $1',
  params: [user_id],
});

export const purgePendingSignIns = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    `delete from sign_in_attempts where attempt_hash in
       (select attempt_hash from sign_in_attempts where expires_at < $1 order by expires_at limit $2)`,
    [expiredBefore, rows],
  );
