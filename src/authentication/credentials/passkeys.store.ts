import { type Condition, insertIf } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';

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

/** Whether somebody has a passkey, in the SQL of whoever asks. @param user_id a column, or a placeholder. */
export const hasPasskey = (user_id: string) => `exists (select 1 from passkeys k where k.user_id = ${user_id})`;

/** Oldest first. */
export const listPasskeys = (db: Db, user_id: string) =>
  db.all<Passkey>('select * from passkeys where user_id = $1 order by created_at, credential_id', [user_id]);

/** Whoever's it is; nothing for somebody who is disabled. */
export const findUsablePasskey = (db: Db, credential_id: string) =>
  db.get<Passkey>(
    `select p.* from passkeys p join users u on u.user_id = p.user_id
      where p.credential_id = $1 and u.disabled_at is null`,
    [credential_id],
  );

export async function isRegistered(db: Db, credential_id: string): Promise<boolean> {
  const row = await db.get('select 1 as one from passkeys where credential_id = $1', [credential_id]);
  return row !== undefined;
}

/** Room for one more. Read it behind a lock of the person's row, or two at once both fit. */
export const hasRoomForPasskey = (user_id: string, most: number): Condition => ({
  sql: `exists (select 1 from users u where u.user_id = $1 and u.disabled_at is null
                   and (select count(*) from passkeys p where p.user_id = u.user_id) < $2)`,
  params: [user_id, most],
});

/** Fails on a credential that is registered, whoever has it: its id is the primary key. */
export const insertPasskey = (passkey: Omit<Passkey, 'last_used_at'>, onlyIf: Condition): Statement =>
  insertIf(
    {
      sql: `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, backed_up_at, name, created_at)
            select $1, $2, $3, cast($4 as bigint), $5, cast($6 as bigint), $7, cast($8 as bigint)`,
      params: [
        passkey.credential_id,
        passkey.user_id,
        passkey.public_key,
        passkey.sign_count,
        passkey.transports,
        passkey.backed_up_at,
        passkey.name,
        passkey.created_at,
      ],
    },
    onlyIf,
  );

export type PasskeyUse = { sign_count: number; backedUp: boolean; at: number };

/**
 * Writes down a use. No change when the signature counter has not grown, which two devices with one key cannot avoid
 * (WebAuthn §6.1.1); an authenticator that does not count says 0 each time.
 */
export const usePasskey = ({ credential_id, user_id }: Passkey, use: PasskeyUse): Statement => ({
  sql: `update passkeys
           set sign_count = $3, last_used_at = $4,
               backed_up_at = case when cast($5 as bigint) = 1 then coalesce(backed_up_at, $4) else null end
         where credential_id = $1 and user_id = $2 and (sign_count < $3 or (sign_count = 0 and $3 = 0))`,
  params: [credential_id, user_id, use.sign_count, use.at, use.backedUp ? 1 : 0],
});

export const passkeyExists = ({ credential_id, user_id }: Passkey): Condition => ({
  sql: 'exists (select 1 from passkeys where credential_id = $1 and user_id = $2)',
  params: [credential_id, user_id],
});

export const renamePasskey = ({ credential_id }: Passkey, name: string, onlyIf: Condition): Statement => ({
  sql: `update passkeys set name = $${onlyIf.params.length + 1}
         where credential_id = $${onlyIf.params.length + 2} and ${onlyIf.sql}`,
  params: [...onlyIf.params, name, credential_id],
});

/** Still there, and not the last way in. */
export const isRemovable = ({ credential_id, user_id }: Passkey, hasAnotherSignInMethod: Condition): Condition => ({
  sql: `${hasAnotherSignInMethod.sql} and exists (select 1 from passkeys p
         where p.credential_id = $${hasAnotherSignInMethod.params.length + 1} and p.user_id = $${hasAnotherSignInMethod.params.length + 2})`,
  params: [...hasAnotherSignInMethod.params, credential_id, user_id],
});

export const deletePasskey = ({ credential_id }: Passkey, onlyIf: Condition): Statement => ({
  sql: `delete from passkeys where credential_id = $${onlyIf.params.length + 1} and ${onlyIf.sql}`,
  params: [...onlyIf.params, credential_id],
});

/** All of them, whether or not another way in is left: for an administrator who resets somebody's factors. */
export const deletePasskeysOfUser = (user_id: string): Statement => ({
  sql: 'delete from passkeys where user_id = $1',
  params: [user_id],
});
