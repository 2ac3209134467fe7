import type { Db } from '../../platform/db/db.ts';
import { id, integer, jsonObject, nullable, type RowOf, row, text, words } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import { digest, type RequestId, type UserId } from '../../platform/ids.ts';
import type { UpstreamSession } from '../credentials/identities.store.ts';
import type { Method } from './authentication.ts';

/** A sign-in between its first factor and its second (decisions §3). */
export const pendingSignInSeconds = 600;

const PendingSignIn = row('sign_in_attempts', {
  user_id: id<UserId>(),
  /** The factors that were proved so far. */
  methods: words<Method>(),
  request_id: nullable(id<RequestId>()),
  next: nullable(text),
  /** Of a first factor that a provider has vouched for. */
  upstream: nullable(jsonObject<UpstreamSession>()),
});
export type PendingSignIn = RowOf<typeof PendingSignIn>;

const CountedPendingSignIn = row('sign_in_attempts', { ...PendingSignIn.fields, failures: integer });
const StoredPendingSignIn = row('sign_in_attempts', {
  attempt_hash: text,
  ...CountedPendingSignIn.fields,
  created_at: integer,
  expires_at: integer,
});

export const insertPendingSignIn = (attempt_hash: string, pending: PendingSignIn, now: number): Sql => {
  const stored = { ...pending, attempt_hash, failures: 0, created_at: now, expires_at: now + pendingSignInSeconds };
  return sql`insert into sign_in_attempts ${StoredPendingSignIn.values(stored)}`;
};

/** `token`: its secret. `maxTries`: wrong codes that one sign-in allows. */
type OpenPendingSignIn = { token: string; maxTries: number };

const isOpen = ({ token, maxTries }: OpenPendingSignIn, now: number): Sql =>
  sql`attempt_hash = ${digest(token)} and expires_at > ${now} and failures < ${maxTries}`;

export const findPendingSignIn = (db: Db, attempt: OpenPendingSignIn, now: number) =>
  db
    .of(attempt.token)
    .get(PendingSignIn, sql`select ${PendingSignIn.columns} from sign_in_attempts where ${isOpen(attempt, now)}`);

/** Consumes a try before the code is checked, so that simultaneous guesses cannot exceed the maximum. */
export async function consumeTry(db: Db, attempt: OpenPendingSignIn, now: number) {
  const { rows } = await db.of(attempt.token).run(
    CountedPendingSignIn,
    sql`update sign_in_attempts set failures = failures + 1 where ${isOpen(attempt, now)}
        returning ${CountedPendingSignIn.columns}`,
  );
  const [found] = rows;
  return found && { ...found, triesLeft: attempt.maxTries - found.failures };
}

/** For the change that completes it, behind a lock: of two at once, only one still finds it. */
export const pendingSignInExists = (token: string): Sql =>
  sql`exists (select 1 from sign_in_attempts where attempt_hash = ${digest(token)})`;

export const hasPendingSignIn = (user_id: UserId, now: number): Sql =>
  sql`exists (select 1 from sign_in_attempts where user_id = ${user_id} and expires_at > ${now})`;

export const deletePendingSignIn = (token: string): Sql =>
  sql`delete from sign_in_attempts where attempt_hash = ${digest(token)}`;

/** For a change of password or factors: a sign-in that began with the old ones has to start again. */
export const deletePendingSignInsOfUser = (user_id: UserId): Sql =>
  sql`delete from sign_in_attempts where user_id = ${user_id}`;
