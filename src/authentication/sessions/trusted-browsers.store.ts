import type { Db } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { SessionId, UserId } from '../../platform/ids.ts';

const TrustedBrowser = row('trusted_browsers', {
  /** Of what stays the same in the cookie. */
  series_hash: text,
  user_id: id<UserId>(),
  /** Of the secret that the next sign-in has to show. */
  secret_hash: text,
  /** When the second factor was given in it. */
  created_at: integer,
  last_used_at: integer,
  expires_at: integer,
  address: nullable(text),
  user_agent: nullable(text),
});
export type TrustedBrowser = RowOf<typeof TrustedBrowser>;

/** Of one user. Above that, those unused for longest are removed. */
const maxTrusted = 20;

/** Times in Unix seconds; `since`: who was trusted earlier is no longer, since the operator has shortened it. */
export type TrustTime = { at: number; since: number };

const isTrusted = ({ at, since }: TrustTime): Sql => sql`expires_at > ${at} and created_at > ${since}`;

/** Last used first. */
export const trustedBrowsersOf = (db: Db, user_id: UserId, time: TrustTime) =>
  db.of(user_id).all(
    TrustedBrowser,
    sql`select ${TrustedBrowser.columns} from trusted_browsers where user_id = ${user_id} and ${isTrusted(time)}
         order by last_used_at desc, series_hash limit ${maxTrusted}`,
  );

/** Also one that has expired. */
export const findTrustedBrowser = (db: Db, user_id: UserId, series_hash: string) =>
  db
    .of(user_id)
    .get(
      TrustedBrowser,
      sql`select ${TrustedBrowser.columns} from trusted_browsers where series_hash = ${series_hash} and user_id = ${user_id}`,
    );

export const insertTrustedBrowser = (browser: TrustedBrowser): Sql =>
  sql`insert into trusted_browsers ${TrustedBrowser.values(browser)}`;

/** Removes those above the maximum, except the one of this sign-in. */
export const deleteSurplusTrustedBrowsers = (user_id: UserId, series_hash: string): Sql =>
  sql`delete from trusted_browsers
       where user_id = ${user_id} and series_hash <> ${series_hash}
         and series_hash not in (select o.series_hash from trusted_browsers o
              where o.user_id = ${user_id} and o.series_hash <> ${series_hash}
              order by o.last_used_at desc, o.series_hash limit ${maxTrusted - 1})`;

type Use = Pick<TrustedBrowser, 'series_hash' | 'user_id' | 'secret_hash'> & { next_hash: string };

/** Puts it under its next secret. Changes nothing for another user's, for one that is over, and for a secret that was used. */
export const useTrustedBrowser = ({ series_hash, user_id, secret_hash, next_hash }: Use, time: TrustTime): Sql =>
  sql`update trusted_browsers set secret_hash = ${next_hash}, last_used_at = ${time.at}
       where series_hash = ${series_hash} and user_id = ${user_id} and secret_hash = ${secret_hash}
         and ${isTrusted(time)}`;

export const deleteTrustedBrowser = ({ series_hash, user_id }: Pick<TrustedBrowser, 'series_hash' | 'user_id'>): Sql =>
  sql`delete from trusted_browsers where series_hash = ${series_hash} and user_id = ${user_id}`;

/** Deletes one of which an older secret was shown, unless it is gone. */
export const deleteReplayed = ({ series_hash, user_id, secret_hash }: Omit<Use, 'next_hash'>): Sql =>
  sql`delete from trusted_browsers
       where series_hash = ${series_hash} and user_id = ${user_id} and secret_hash <> ${secret_hash}`;

/** Of a session that is ended from elsewhere: the next sign-in in that browser asks for the second factor. */
export const deleteTrustOfSession = (user_id: UserId, session_id: SessionId): Sql =>
  sql`delete from trusted_browsers
       where user_id = ${user_id} and series_hash in (select trusted_by from sessions where session_id = ${session_id})`;

/** For every change of factors, sign-in methods or password. @param kept that of the session which makes the change. */
export const deleteTrustedBrowsersOfUser = (user_id: UserId, kept?: string | null): Sql =>
  kept == null
    ? sql`delete from trusted_browsers where user_id = ${user_id}`
    : sql`delete from trusted_browsers where user_id = ${user_id} and series_hash <> ${kept}`;

/**
 * A condition of a session `s`: the browser that stood in for the second factor of its sign-in is trusted still.
 * @param now Unix seconds.
 */
export const restsOnTrust = (now: number): Sql =>
  sql`exists (select 1 from trusted_browsers b
               where b.series_hash = ${raw('s.trusted_by')} and b.user_id = ${raw('s.user_id')} and b.expires_at > ${now})`;
