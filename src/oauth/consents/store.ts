import type { Db, Statement } from '../../platform/db/db.ts';

/** The scope that a person has allowed a client, if any. */
export async function findConsent(db: Db, user_id: string, client_id: string): Promise<string | undefined> {
  const row = await db.get<{ scope: string }>('select scope from consents where user_id = $1 and client_id = $2', [
    user_id,
    client_id,
  ]);
  return row?.scope;
}

/** Remembers what was allowed. `scope` is the union with what was allowed before. */
export const saveConsent = (user_id: string, client_id: string, scope: string, now: number): Statement => ({
  sql: `insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, $3, $4)
        on conflict (user_id, client_id) do update set scope = $3, granted_at = $4`,
  params: [user_id, client_id, scope, now],
});

/** What a person has allowed, to whom and since when. */
type Consent = { client_id: string; scope: string; granted_at: number };

export const listConsents = (db: Db, user_id: string) =>
  db.all<Consent>('select client_id, scope, granted_at from consents where user_id = $1', [user_id]);

/** The next authorization request of that client asks again. */
export const deleteConsent = (user_id: string, client_id: string): Statement => ({
  sql: 'delete from consents where user_id = $1 and client_id = $2',
  params: [user_id, client_id],
});

const deleteConsents = (db: Db, column: 'client_id' | 'user_id', id: string, rows: number) =>
  db.run(
    `delete from consents where (user_id, client_id) in
       (select user_id, client_id from consents where ${column} = $1 limit $2)`,
    [id, rows],
  );

export const deleteConsentsToClient = (db: Db, client_id: string, rows: number) =>
  deleteConsents(db, 'client_id', client_id, rows);

export const deleteConsentsOfUser = (db: Db, user_id: string, rows: number) =>
  deleteConsents(db, 'user_id', user_id, rows);
