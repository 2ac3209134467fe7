import { type Sql, sql } from './sql.ts';

// What may be used once, while its holder keeps it: links, passkey challenges, upstream authorizations. The thing itself
// is in a mail, a cookie or a browser, so the row here is the only proof that it was used. `purge` in app/jobs.ts keeps each row
// until no node can take the thing for a valid one.

/** @param token_hash the digest of its secret. @param expires_at Unix seconds, after which it is refused without the row, too. */
export type SingleUse = { token_hash: string; expires_at: number };

/** For the change that the use allows. Of two uses the second conflicts with the first. */
export const useOnce = ({ token_hash, expires_at }: SingleUse): Sql =>
  sql`insert into spent_tokens (token_hash, expires_at) values (${token_hash}, ${expires_at})`;

/** As if each of these were used; those that were stay so. @param some `select token_hash, expires_at`. */
export const useEach = (some: Sql): Sql =>
  sql`insert into spent_tokens (token_hash, expires_at) ${some} on conflict do nothing`;

/** A condition: that of this digest was not used. @param token_hash a column. */
export const isUnused = (token_hash: Sql): Sql =>
  sql`not exists (select 1 from spent_tokens s where s.token_hash = ${token_hash})`;
