import { type Condition, eventWasKept, insertIf } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import { emailKey } from '../../platform/email-address.ts';

/** Who a person is at an upstream provider: issuer and subject, never the e-mail address (OIDC Core §5.7). */
export type Identity = {
  issuer: string;
  subject: string;
  user_id: string;
  /** The provider's id when it was linked. */
  provider: string;
  email: string | null;
  linked_at: number;
  last_used_at: number;
};

/** Oldest first. */
export const listIdentities = (db: Db, user_id: string) =>
  db.all<Identity>('select * from identities where user_id = $1 order by linked_at, issuer, subject', [user_id]);

export const findIdentity = (db: Db, issuer: string, subject: string) =>
  db.get<Identity>('select * from identities where issuer = $1 and subject = $2', [issuer, subject]);

type NewIdentity = Omit<Identity, 'linked_at' | 'last_used_at'>;

/**
 * @param event_id of an event before it in the batch: nothing is linked unless that was kept. Fails on an identity that
 * is somebody's already: issuer and subject are the key.
 */
export const insertIdentity = (identity: NewIdentity, event_id: string, now: number): Statement =>
  insertIf(
    {
      sql: `insert into identities (issuer, subject, user_id, provider, email, linked_at, last_used_at)
            select $1, $2, $3, $4, $5, cast($6 as bigint), cast($6 as bigint)`,
      params: [identity.issuer, identity.subject, identity.user_id, identity.provider, identity.email, now],
    },
    eventWasKept(event_id),
  );

/** They may sign in, and have nobody at that issuer yet. */
export const mayLink = (user_id: string, issuer: string): Condition => ({
  sql: `exists (select 1 from users where user_id = $1 and disabled_at is null)
        and not exists (select 1 from identities where user_id = $1 and issuer = $2)`,
  params: [user_id, issuer],
});

/** The same for whom an address alone names: it must be theirs still, and proved. */
export const mayLinkByEmail = (user_id: string, issuer: string, email: string): Condition => ({
  sql: `exists (select 1 from users where user_id = $1 and disabled_at is null
                                      and email_key = $3 and email_verified_at is not null)
        and not exists (select 1 from identities where user_id = $1 and issuer = $2)`,
  params: [user_id, issuer, emailKey(email)],
});

export const isLinked = (user_id: string, issuer: string): Condition => ({
  sql: 'exists (select 1 from identities where user_id = $1 and issuer = $2)',
  params: [user_id, issuer],
});

/** @param event_id as for {@link insertIdentity}. */
export const deleteIdentity = (user_id: string, issuer: string, event_id: string): Statement => ({
  sql: `delete from identities
         where user_id = $1 and issuer = $2 and exists (select 1 from audit_log where event_id = $3)`,
  params: [user_id, issuer, event_id],
});

/** @param email what the upstream calls them today, for lists; null leaves what is there. */
export const touchIdentity = (
  { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>,
  email: string | null,
  now: number,
): Statement => ({
  sql: `update identities set last_used_at = $4, email = coalesce($3, email) where issuer = $1 and subject = $2`,
  params: [issuer, subject, email, now],
});

export const deleteIdentitiesOfUser = (user_id: string): Statement => ({
  sql: 'delete from identities where user_id = $1',
  params: [user_id],
});
