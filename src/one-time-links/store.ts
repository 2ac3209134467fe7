import type { Db, Statement } from '../db/db.ts';

/** What a link is good for. A link for one purpose opens nothing else. */
export type LinkPurpose = 'administrator' | 'first_administrator';

export type OneTimeLink = { token_hash: string; purpose: LinkPurpose; expires_at: number };

export const insertLink = (link: OneTimeLink, now: number): Statement => ({
  sql: 'insert into one_time_links (token_hash, purpose, created_at, expires_at) values ($1, $2, $3, $4)',
  params: [link.token_hash, link.purpose, now, link.expires_at],
});

/** A link that is known, unexpired and unused, for one of the purposes. */
export const findOpenLink = (db: Db, token_hash: string, purposes: readonly [LinkPurpose, LinkPurpose?], now: number) =>
  db.get<OneTimeLink>(
    `select token_hash, purpose, expires_at from one_time_links l
      where token_hash = $1 and purpose in ($2, $3) and expires_at > $4
        and not exists (select 1 from spent_tokens s where s.token_hash = l.token_hash)`,
    [token_hash, purposes[0], purposes[1] ?? purposes[0], now],
  );

/** Belongs into the batch that the link allows. Of two uses the second violates the primary key and fails whole. */
export const spendLink = ({ token_hash, expires_at }: OneTimeLink): Statement => ({
  sql: 'insert into spent_tokens (token_hash, expires_at) values ($1, $2)',
  params: [token_hash, expires_at],
});

/** Links that have lost their purpose. */
export const deleteLinks = (purpose: LinkPurpose): Statement => ({
  sql: 'delete from one_time_links where purpose = $1',
  params: [purpose],
});

export const purgeLinks = (now: number): Statement[] => [
  { sql: 'delete from one_time_links where expires_at < $1', params: [now] },
  { sql: 'delete from spent_tokens where expires_at < $1', params: [now] },
];
