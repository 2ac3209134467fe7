import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import type { Method } from './authentication.ts';

/** A sign-in between its first factor and its second (decisions §3). */
export const attemptSeconds = 600;

export type SignInAttempt = {
  user_id: string;
  /** What has been proved so far. */
  methods: Method[];
  request_id: string | null;
  next: string | null;
};
type TakenTry = SignInAttempt & { triesLeft: number };
type AttemptRow = Omit<SignInAttempt, 'methods'> & { methods: string };

const attemptOf = ({ user_id, methods, request_id, next }: AttemptRow): SignInAttempt => ({
  user_id,
  methods: methods.split(' ') as Method[],
  request_id,
  next,
});

export const insertAttempt = (attempt_hash: string, attempt: SignInAttempt, now: number): Statement => ({
  sql: `insert into sign_in_attempts (attempt_hash, user_id, methods, request_id, next, failures, created_at, expires_at)
        values ($1, $2, $3, $4, $5, 0, $6, $7)`,
  params: [
    attempt_hash,
    attempt.user_id,
    attempt.methods.join(' '),
    attempt.request_id,
    attempt.next,
    now,
    now + attemptSeconds,
  ],
});

/** `mostTries`: the wrong codes that one sign-in may give. */
type OpenAttempt = { attempt_hash: string; mostTries: number };

const open = 'expires_at > $2 and failures < $3';

export async function findAttempt(
  db: Db,
  { attempt_hash, mostTries }: OpenAttempt,
  now: number,
): Promise<SignInAttempt | undefined> {
  const row = await db.get<AttemptRow>(
    `select user_id, methods, request_id, next from sign_in_attempts where attempt_hash = $1 and ${open}`,
    [attempt_hash, now, mostTries],
  );
  return row && attemptOf(row);
}

/** Uses up one of its tries, before the code is looked at: of any number of guesses at once, so many are looked at. */
export async function takeTry(
  db: Db,
  { attempt_hash, mostTries }: OpenAttempt,
  now: number,
): Promise<TakenTry | undefined> {
  const { rows } = await db.run(
    `update sign_in_attempts set failures = failures + 1 where attempt_hash = $1 and ${open}
  returning user_id, methods, request_id, next, failures`,
    [attempt_hash, now, mostTries],
  );
  const row = rows[0] as (AttemptRow & { failures: number }) | undefined;
  return row && { ...attemptOf(row), triesLeft: mostTries - row.failures };
}

/** For a batch that ends it: of two at once, and beside whatever else ends it, one still finds it. */
export const attemptIsThere = (attempt_hash: string): Condition => ({
  sql: 'exists (select 1 from sign_in_attempts where attempt_hash = $1)',
  params: [attempt_hash],
});

export const deleteAttempt = (attempt_hash: string): Statement => ({
  sql: 'delete from sign_in_attempts where attempt_hash = $1',
  params: [attempt_hash],
});

/** For a change of password or of factors: whoever is half in by the old ones starts again. */
export const deleteAttemptsOfUser = (user_id: string): Statement => ({
  sql: 'delete from sign_in_attempts where user_id = $1',
  params: [user_id],
});

export const purgeAttempts = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    `delete from sign_in_attempts where attempt_hash in
       (select attempt_hash from sign_in_attempts where expires_at < $1 order by expires_at limit $2)`,
    [expiredBefore, rows],
  );
