import type { Db } from '../db/db.ts';

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
