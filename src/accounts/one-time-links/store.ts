import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';

/** What a link is good for. A link for one purpose opens nothing else. */
type LinkPurpose =
  | 'administrator'
  | 'first_administrator'
  | 'sign_up'
  | 'verify_email'
  | 'change_email'
  | 'password_reset';

export type OneTimeLink = {
  token_hash: string;
  purpose: LinkPurpose;
  expires_at: number;
  /** Whose account it is about; null where it makes one. */
  user_id: string | null;
  /** The address that it was sent to, and proves. */
  email: string | null;
  /** What the sign-in behind it is for. */
  request_id: string | null;
  next: string | null;
};

/** A link that anybody may use who holds it: an invitation. */
export const insertLink = (
  link: Pick<OneTimeLink, 'token_hash' | 'purpose' | 'expires_at'>,
  now: number,
): Statement => ({
  sql: 'insert into one_time_links (token_hash, purpose, created_at, expires_at) values ($1, $2, $3, $4)',
  params: [link.token_hash, link.purpose, now, link.expires_at],
});

export type MailedLink = Omit<OneTimeLink, 'user_id' | 'email'> & { email: string };

const columns = 'token_hash, purpose, user_id, email, request_id, next, created_at, expires_at';

/** Nothing while an account has the address: whoever owns it is told so instead. */
export const insertSignUpLink = (link: MailedLink, email_key: string, now: number): Statement => ({
  sql: `insert into one_time_links (${columns})
        select $1, $2, null, $3, $4, $5, cast($6 as bigint), cast($7 as bigint)
         where not exists (select 1 from users where email_key = $8)`,
  params: [link.token_hash, link.purpose, link.email, link.request_id, link.next, now, link.expires_at, email_key],
});

/**
 * A link for an account, in place of an earlier one for the same purpose. Nothing for an account that is disabled or
 * not there, so that the same statement runs whether an address is known or not.
 */
export const insertAccountLink = (link: MailedLink & { user_id: string }, now: number): Statement => ({
  sql: `${insertForAccount} ${inPlaceOfEarlier}`,
  params: accountLinkParams(link, now),
});

/** The same, and nothing while another account has the address that the link would prove. */
export const insertAddressLink = (
  link: MailedLink & { user_id: string },
  email_key: string,
  now: number,
): Statement => ({
  sql: `${insertForAccount} and not exists (select 1 from users o where o.email_key = $9) ${inPlaceOfEarlier}`,
  params: [...accountLinkParams(link, now), email_key],
});

const insertForAccount = `insert into one_time_links (${columns})
  select $1, $2, u.user_id, $4, $5, $6, cast($7 as bigint), cast($8 as bigint)
    from users u where u.user_id = $3 and u.disabled_at is null`;
const inPlaceOfEarlier = `on conflict (user_id, purpose) where user_id is not null do update set
    token_hash = excluded.token_hash, email = excluded.email, request_id = excluded.request_id,
    next = excluded.next, created_at = excluded.created_at, expires_at = excluded.expires_at`;

const accountLinkParams = (link: MailedLink & { user_id: string }, now: number) => [
  link.token_hash,
  link.purpose,
  link.user_id,
  link.email,
  link.request_id,
  link.next,
  now,
  link.expires_at,
];

/** That a conditional insert above has kept its link: then its mail may go out. */
export const linkWasKept = (token_hash: string): Condition => ({
  sql: 'exists (select 1 from one_time_links where token_hash = $1)',
  params: [token_hash],
});

/**
 * A link that is known, unexpired and unused, for one of the purposes. One that was seen to have expired opens nothing any
 * more, whatever becomes of the clock: it is taken away.
 */
export async function findOpenLink(
  db: Db,
  token_hash: string,
  purposes: readonly [LinkPurpose, LinkPurpose?],
  now: number,
): Promise<OneTimeLink | undefined> {
  const link = await db.get<OneTimeLink>(
    `select token_hash, purpose, user_id, email, request_id, next, expires_at from one_time_links l
      where token_hash = $1 and purpose in ($2, $3)
        and not exists (select 1 from spent_tokens s where s.token_hash = l.token_hash)`,
    [token_hash, purposes[0], purposes[1] ?? purposes[0]],
  );
  if (!link || link.expires_at > now) return link;
  await db.run('delete from one_time_links where token_hash = $1 and expires_at <= $2', [token_hash, now]);
  return undefined;
}

/** Belongs into the batch that the link allows. Of two uses the second violates the primary key and fails whole. */
export const spendLink = ({ token_hash, expires_at }: Pick<OneTimeLink, 'token_hash' | 'expires_at'>): Statement => ({
  sql: 'insert into spent_tokens (token_hash, expires_at) values ($1, $2)',
  params: [token_hash, expires_at],
});

/**
 * Fails its whole batch, with a unique violation, unless the condition holds right then: it spends the same token
 * twice. So a batch can depend on what another one may change meanwhile (a session that lives, an address that is
 * still the person's) although there are no interactive transactions.
 * @param once an id that nothing else uses, such as that of the batch's audit event.
 */
export const failUnless = (condition: Condition, once: string, now: number): Statement => ({
  sql: `insert into spent_tokens (token_hash, expires_at)
        select cast($1 as text), cast($2 as bigint) from (select 1 as one union all select 2) as twice
         where not (${condition.sql.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + 2}`)})`,
  params: [once, now, ...condition.params],
});

/** Links that have lost their purpose. */
export const deleteLinks = (purpose: LinkPurpose): Statement => ({
  sql: 'delete from one_time_links where purpose = $1',
  params: [purpose],
});

/** A person's links for a purpose. */
export const deleteLinksOfUser = (user_id: string, purpose: LinkPurpose): Statement => ({
  sql: 'delete from one_time_links where user_id = $1 and purpose = $2',
  params: [user_id, purpose],
});

export const purgeLinks = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    `delete from one_time_links where token_hash in
       (select token_hash from one_time_links where expires_at < $1 order by expires_at limit $2)`,
    [expiredBefore, rows],
  );

export const purgeSpentTokens = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    'delete from spent_tokens where token_hash in (select token_hash from spent_tokens where expires_at < $1 order by expires_at limit $2)',
    [expiredBefore, rows],
  );
