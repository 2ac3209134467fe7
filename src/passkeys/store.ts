import type { Db } from '../db/db.ts';

/** A registered WebAuthn credential. Bytes are base64url. */
export type Passkey = {
  credential_id: string;
  user_id: string;
  public_key: string;
  sign_count: number;
  /** Separated by spaces, as the browser reported them. */
  transports: string;
  /** Set once the authenticator said that it keeps a copy elsewhere. */
  backed_up_at: number | null;
  name: string;
  created_at: number;
  last_used_at: number | null;
};

/** Oldest first. */
export const listPasskeys = (db: Db, user_id: string) =>
  db.all<Passkey>('select * from passkeys where user_id = $1 order by created_at, credential_id', [user_id]);
