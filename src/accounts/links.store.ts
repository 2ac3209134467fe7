import type { Db, Part } from '../platform/db/db.ts';
import { askAll, compareText, mergeAll } from '../platform/db/parts.ts';
import { choice, id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import type { Cursor } from '../platform/db/slices.ts';
import { asBigint, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { isUnused, useEach } from '../platform/db/used-once.ts';
import { readableEmail } from '../platform/email-address.ts';
import type { UserId } from '../platform/ids.ts';
import { isEmailFree } from './store.ts';

const OneTimeLink = row('one_time_links', {
  token_hash: text,
  /** A link for one purpose is refused for another. */
  purpose: choice(
    'administrator',
    'first_administrator',
    'sign_up',
    'verify_email',
    'change_email',
    'password_reset',
    'admin_password_reset',
    'invitation',
    'mailed_invitation',
  ),
  expires_at: integer,
  /** The account that it is about; null where it makes one. */
  user_id: nullable(id<UserId>()),
  /** The address that it is for. A link that was mailed there, and to no one else, proves it. */
  email: nullable(text),
  /** The authorization request that waits for the sign-in behind it. */
  request_id: nullable(text),
  next: nullable(text),
  /** That of the account which an invitation makes. */
  preferred_username: nullable(text),
  /** The same; null: of the user's choice. */
  name: nullable(text),
  /** The same, of an administrator. */
  role: nullable(choice('user', 'admin')),
  /** The actor whose access such an invitation is worth as much as, or a link to a reset that an administrator has made. */
  invited_by: nullable(text),
});
export type OneTimeLink = RowOf<typeof OneTimeLink>;
type LinkPurpose = OneTimeLink['purpose'];

const StoredLink = row('one_time_links', { ...OneTimeLink.fields, created_at: integer });

/** An invitation: anyone who holds the link may use it. */
export const insertLink = (link: Pick<OneTimeLink, 'token_hash' | 'purpose' | 'expires_at'>, now: number): Sql =>
  sql`insert into one_time_links ${StoredLink.values({ ...link, created_at: now })}`;

export type MailedLink = Omit<OneTimeLink, 'user_id' | 'email'> & { email: string };

/** Inserts nothing while an account has the address. */
export const insertSignUpLink = (link: MailedLink, now: number): Sql =>
  sql`insert into one_time_links ${StoredLink.select({ ...link, created_at: now })}
       where ${isEmailFree(link.email)}`;

type AccountLink = MailedLink & { user_id: UserId };

/**
 * A link for an account, in place of an earlier one for the same purpose. Inserts nothing for an account that is disabled
 * or not there, so that the same statement runs whether an address is known or not.
 */
export const insertAccountLink = ({ user_id, ...link }: AccountLink, now: number, condition = sql`1 = 1`): Sql =>
  sql`insert into one_time_links (token_hash, purpose, user_id, email, request_id, next, invited_by, created_at, expires_at)
      select ${link.token_hash}, ${link.purpose}, u.user_id, ${link.email}, ${link.request_id}, ${link.next},
             ${link.invited_by}, ${asBigint(now)}, ${asBigint(link.expires_at)}
        from users u where u.user_id = ${user_id} and u.disabled_at is null and ${condition}
      on conflict (user_id, purpose) where user_id is not null do update set
        token_hash = excluded.token_hash, email = excluded.email, request_id = excluded.request_id,
        next = excluded.next, invited_by = excluded.invited_by, created_at = excluded.created_at,
        expires_at = excluded.expires_at`;

/** {@link insertAccountLink}, but nothing while another account has the address that the link would prove. */
export const insertAddressLink = (link: AccountLink, now: number): Sql =>
  insertAccountLink(link, now, isEmailFree(link.email));

/**
 * A link that is known, unexpired and unused, for one of the purposes. One that has expired is deleted, so that it stays
 * so even if the clock is set back.
 */
export async function findOpenLink(
  part: Part,
  token_hash: string,
  purposes: readonly LinkPurpose[],
  now: number,
): Promise<OneTimeLink | undefined> {
  const link = await part.get(
    OneTimeLink,
    sql`select ${OneTimeLink.columns} from one_time_links l
         where token_hash = ${token_hash} and purpose in ${oneOf(purposes)}
           and ${isUnused(sql`l.token_hash`)}`,
  );
  if (!link || link.expires_at > now) return link;
  await part.run(sql`delete from one_time_links where token_hash = ${token_hash} and expires_at <= ${now}`);
  return undefined;
}

const Invitation = row('one_time_links', {
  token_hash: text,
  email: nullable(text),
  preferred_username: nullable(text),
  name: nullable(text),
  role: nullable(choice('user', 'admin')),
  created_at: integer,
  expires_at: integer,
});

/** Neither used, revoked nor expired, the newest first. */
export const listInvitations = (db: Db, now: number, { after, limit }: { after?: Cursor; limit: number }) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        Invitation,
        sql`select ${Invitation.columns} from one_time_links l
             where purpose = 'invitation' and expires_at > ${now}
               ${after === undefined ? sql`` : sql`and (created_at, token_hash) < (${asBigint(after.at)}, ${after.id})`}
               and ${isUnused(sql`l.token_hash`)}
             order by created_at desc, token_hash desc limit ${limit}`,
      ),
    (one, other) => other.created_at - one.created_at || compareText(other.token_hash, one.token_hash),
    limit,
  );

const ofAddress = (email: string): Sql =>
  sql`purpose in ('invitation', 'mailed_invitation') and email in ${oneOf([email, readableEmail(email)])}`;

/** As if they were used: an account that is being created with one of them conflicts. */
export const spendInvitations = (email: string): Sql =>
  useEach(sql`select token_hash, expires_at from one_time_links where ${ofAddress(email)}`);

export const deleteInvitations = (email: string): Sql => sql`delete from one_time_links where ${ofAddress(email)}`;

export const deleteLinks = (purpose: LinkPurpose): Sql => sql`delete from one_time_links where purpose = ${purpose}`;

export const deleteLinksOfUser = (user_id: UserId, purpose: LinkPurpose): Sql =>
  sql`delete from one_time_links where user_id = ${user_id} and purpose = ${purpose}`;

/** Also one that an administrator has handed out. */
export const deleteResetLinksOfUser = (user_id: UserId): Sql =>
  sql`delete from one_time_links where user_id = ${user_id} and purpose in ('password_reset', 'admin_password_reset')`;

/** A condition: the invitation still makes an administrator, in the name of this actor. */
export const isInvitedBy = (token_hash: string, actor: string): Sql =>
  sql`exists (select 1 from one_time_links
               where token_hash = ${token_hash} and role = 'admin' and invited_by = ${actor})`;

/** A condition: {@link endLinksGivenBy} would end something. */
export const hasGivenLinks = (user_id: UserId): Sql =>
  sql`exists (select 1 from one_time_links where invited_by = ${`user:${user_id}`})`;

/** Whether {@link endLinksGivenBy} makes an invitation of an administrator an ordinary one. */
export const hasInvitedAdministrator = async (db: Db, user_id: UserId, now: number): Promise<boolean> => {
  const hasInvited = sql`exists (select 1 from one_time_links l
                                  where invited_by = ${`user:${user_id}`} and role = 'admin' and expires_at > ${now}
                                    and ${isUnused(sql`l.token_hash`)})`;
  return (await askAll(db, (part) => part.holds(hasInvited))).includes(true);
};

/**
 * {@link endLinksGivenBy} in the other parts, before the change of the user: that a link ends is no harm if the change is refused.
 * @returns whether there were any.
 */
export const endLinksGivenElsewhere = async (db: Db, user_id: UserId): Promise<boolean> => {
  const others = db.parts.filter((part) => part !== db.of(user_id));
  const ended = await Promise.all(others.map((part) => part.change({ run: { given: endLinksGivenBy(user_id) } })));
  return ended.some(({ results }) => results.given.changes > 0);
};

/**
 * What an administrator has given away by links outlives no end of that administrator's access, since a thief may have been
 * the one who gave it: invitations of administrators become ordinary ones, and links that open the accounts of others end.
 * For a change behind a lock of the row of that user.
 */
export function endLinksGivenBy(user_id: UserId): Sql[] {
  const given = sql`invited_by = ${`user:${user_id}`}`;
  const resets = sql`${given} and purpose = 'admin_password_reset'`;
  return [
    useEach(sql`select token_hash, expires_at from one_time_links where ${resets}`),
    sql`delete from one_time_links where ${resets}`,
    sql`update one_time_links set role = null, invited_by = null where ${given}`,
  ];
}
