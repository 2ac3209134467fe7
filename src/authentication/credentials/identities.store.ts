import { isAddressed } from '../../accounts/statements.ts';
import type { Claim, ClaimKind } from '../../platform/claims.ts';
import type { Db } from '../../platform/db/db.ts';
import { compareText, mergeAll } from '../../platform/db/parts.ts';
import { flag, id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { asBigint, asText, type Sql, sql } from '../../platform/db/sql.ts';
import type { Deps } from '../../platform/deps.ts';
import { digest, type UserId } from '../../platform/ids.ts';
import { signsIn } from './providers.store.ts';
import type { ProviderSettings } from './providers.ts';

/** A user's account at an upstream provider: issuer and subject, never the e-mail address (OIDC Core §5.7). */
const Identity = row('identities', {
  issuer: text,
  subject: text,
  user_id: id<UserId>(),
  /** The provider's id when it was linked. */
  provider: text,
  email: nullable(text),
  linked_at: integer,
  last_used_at: integer,
});
export type Identity = RowOf<typeof Identity>;

/** An account at a provider, signed in there. */
export type UpstreamSession = {
  issuer: string;
  subject: string;
  /** The session there; null if the provider has named none. */
  sid: string | null;
  /** When the provider issued the ID token, by its clock. Unix seconds. */
  issued_at: number;
};

const StoredIdentity = row('identities', {
  ...Identity.fields,
  /** When the provider last said so. */
  email_verified_at: nullable(integer),
});

export const listIdentities = (db: Db, user_id: UserId) =>
  db
    .of(user_id)
    .all(
      Identity,
      sql`select ${Identity.columns} from identities where user_id = ${user_id} order by linked_at, issuer, subject`,
    );

const identityKey = (issuer: string, subject: string): string => digest(JSON.stringify([issuer, subject]));

/** It is one user's in all parts of the store. */
export const claimOfIdentity = (db: Db, issuer: string, subject: string): Claim => {
  const key = `identity:${identityKey(issuer, subject)}`;
  return { part: db.of(key), key };
};

/** See {@link openClaims}: of {@link identityKey}. */
export const identityClaims = (db: Db): ClaimKind => ({
  isKept: true,
  isHeld: async (user_id, key) =>
    (await listIdentities(db, user_id)).some(({ issuer, subject }) => identityKey(issuer, subject) === key),
});

export async function findIdentity(
  { db, claims }: Pick<Deps, 'db' | 'claims'>,
  issuer: string,
  subject: string,
): Promise<Identity | undefined> {
  return claims.find(claimOfIdentity(db, issuer, subject), (part) =>
    part.get(
      Identity,
      sql`select ${Identity.columns} from identities where issuer = ${issuer} and subject = ${subject}`,
    ),
  );
}

/** Conflicts with an identity that is linked already, with whatever user: issuer and subject are the key. */
export const insertIdentity = (
  { linked_at, last_used_at, ...identity }: Omit<Identity, Times> & Partial<Pick<Identity, Times>>,
  now: number,
  emailVerified = false,
): Sql => {
  const times = { linked_at: linked_at ?? now, last_used_at: last_used_at ?? linked_at ?? now };
  const email_verified_at = emailVerified ? now : null;
  return sql`insert into identities ${StoredIdentity.values({ ...identity, ...times, email_verified_at })}`;
};
type Times = 'linked_at' | 'last_used_at';

/** The user is not disabled, and has no identity of that issuer yet. */
export const mayLink = (user_id: UserId, issuer: string): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and disabled_at is null)
      and not ${isLinked(user_id, issuer)}`;

/** {@link mayLink} for a user who is known by the address alone: it must still be theirs, and verified. */
export const mayLinkByEmail = (user_id: UserId, issuer: string, email: string): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and disabled_at is null
               and ${isAddressed(email)} and email_verified_at is not null)
      and not ${isLinked(user_id, issuer)}`;

export const isLinked = (user_id: UserId, issuer: string): Sql =>
  sql`exists (select 1 from identities where user_id = ${user_id} and issuer = ${issuer})`;

export const deleteIdentity = (user_id: UserId, issuer: string): Sql =>
  sql`delete from identities where user_id = ${user_id} and issuer = ${issuer}`;

/** @param said what the upstream calls the user today, for lists; without an address the stored one stays. */
export const touchIdentity = (
  { issuer, subject, user_id }: Pick<Identity, 'issuer' | 'subject' | 'user_id'>,
  said: { email: string | undefined; emailVerified: boolean },
  now: number,
): Sql => {
  const verified_at = asBigint(said.emailVerified ? now : null);
  const address =
    said.email === undefined ? sql`` : sql`, email = ${asText(said.email)}, email_verified_at = ${verified_at}`;
  return sql`update identities set last_used_at = ${now}${address}
       where issuer = ${issuer} and subject = ${subject} and user_id = ${user_id}`;
};

/** For the end of sessions that a provider has reported: a sign-in with it that is under way ends, too. The later report counts. */
export const noteSignedOut = (
  user_id: UserId,
  { issuer, subject, sid, until }: { issuer: string; subject: string; sid: string | undefined; until: number },
): Sql =>
  sql`update identities set signed_out_sid = ${asText(sid ?? null)}, signed_out_at = ${until}
       where issuer = ${issuer} and subject = ${subject} and user_id = ${user_id}
         and coalesce(signed_out_at, 0) <= ${until}`;

/** A condition: no end has been reported of the session at the provider that a sign-in rests on. */
export const lastsUpstream = (user_id: UserId, { issuer, subject, sid, issued_at }: UpstreamSession): Sql =>
  sql`not exists (select 1 from identities
                   where issuer = ${issuer} and subject = ${subject} and user_id = ${user_id}
                     and signed_out_at >= ${issued_at}
                     and ${sid === null ? sql`1 = 1` : sql`(signed_out_sid is null or signed_out_sid = ${sid})`})`;

const VerifiedAddress = row('identities', { email: text });

/** The addresses that the providers of a user have verified, a few at most. */
export const addressesVerifiedByProviders = async (db: Db, user_id: UserId): Promise<string[]> =>
  (
    await db.of(user_id).all(
      VerifiedAddress,
      sql`select email from identities
           where user_id = ${user_id} and email is not null and email_verified_at is not null
           order by linked_at, issuer, subject limit ${mostAddresses}`,
    )
  ).map(({ email }) => email);
const mostAddresses = 20;

export const deleteIdentitiesOfUser = (user_id: UserId): Sql => sql`delete from identities where user_id = ${user_id}`;

const IdentityOfProvider = row('identities', {
  subject: text,
  /** The account can be signed in to in no other way. */
  is_alone: flag,
});

/** Identities of an issuer, in the order of their subjects. */
export function identitiesAfter(
  db: Db,
  of: { config: ProviderSettings; issuer: string; after: string; limit: number },
) {
  const { config, issuer, after, limit } = of;
  const has = (table: Sql) => sql`exists (select 1 from ${table} w where w.user_id = i.user_id)`;
  const hasOther = sql`exists (select 1 from identities other where other.user_id = i.user_id
                        and other.issuer <> i.issuer and ${signsIn(config, sql`other.issuer`)})`;
  const isAlone = sql`not (${has(sql`passwords`)} or ${has(sql`passkeys`)} or ${hasOther})`;
  const list = sql`select i.subject, case when ${isAlone} then 1 else 0 end as is_alone from identities i
         where i.issuer = ${issuer} and i.subject > ${after} order by i.subject limit ${limit}`;
  return mergeAll(
    db,
    (part) => part.all(IdentityOfProvider, list),
    (one, other) => compareText(one.subject, other.subject),
    limit,
  );
}
