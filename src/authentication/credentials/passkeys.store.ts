import type { Claim, ClaimKind } from '../../platform/claims.ts';
import type { Db, Part } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text, words } from '../../platform/db/rows.ts';
import { asBigint, type Sql, sql } from '../../platform/db/sql.ts';
import type { Deps } from '../../platform/deps.ts';
import { digest, type UserId } from '../../platform/ids.ts';

/** Bytes are base64url. */
const Passkey = row('passkeys', {
  credential_id: text,
  user_id: id<UserId>(),
  public_key: text,
  sign_count: integer,
  /** As the browser reported them. */
  transports: words(),
  /** Set once the authenticator has said that it keeps a copy elsewhere. */
  backed_up_at: nullable(integer),
  name: text,
  created_at: integer,
  last_used_at: nullable(integer),
  /** What the authenticator calls its user, where another product has made the passkey. Null: as ours are called. */
  user_handle: nullable(text),
});
export type Passkey = RowOf<typeof Passkey>;

/** Where the authenticator is, as far as the browser said so: in a device of the user, or one that is carried from one to another. */
export const attachmentOf = ({ transports }: Pick<Passkey, 'transports'>): 'platform' | 'roaming' =>
  transports.length === 0 || transports.includes('internal') ? 'platform' : 'roaming';

/** The user has a passkey. @param user_id an id, or a column of the statement around it. */
export const hasPasskey = (user_id: UserId | Sql): Sql =>
  sql`exists (select 1 from passkeys k where k.user_id = ${user_id})`;

export const listPasskeys = (db: Db, user_id: UserId) =>
  db
    .of(user_id)
    .all(
      Passkey,
      sql`select ${Passkey.columns} from passkeys where user_id = ${user_id} order by created_at, credential_id`,
    );

/** It is one user's in all parts of the store. */
export const claimOfPasskey = (db: Db, credential_id: string): Claim => {
  const key = `passkey:${digest(credential_id)}`;
  return { part: db.of(key), key };
};

/** See {@link openClaims}: of the digest of a `credential_id`. */
export const passkeyClaims = (db: Db): ClaimKind => ({
  isKept: true,
  isHeld: async (user_id, of) =>
    (await listPasskeys(db, user_id)).some(({ credential_id }) => digest(credential_id) === of),
});

export const findUsablePasskey = ({ db, claims }: Pick<Deps, 'db' | 'claims'>, credential_id: string) =>
  claims.find(claimOfPasskey(db, credential_id), (part) =>
    part.get(
      Passkey,
      sql`select ${Passkey.columnsOf('p')} from passkeys p join users u on u.user_id = p.user_id
           where p.credential_id = ${credential_id} and u.disabled_at is null`,
    ),
  );

/** Of any user, whether or not they may sign in. */
export const isKnownPasskey = async (
  { db, claims }: Pick<Deps, 'db' | 'claims'>,
  credential_id: string,
): Promise<boolean> =>
  (await claims.find(claimOfPasskey(db, credential_id), (part) =>
    part.get(Passkey, sql`select ${Passkey.columns} from passkeys where credential_id = ${credential_id}`),
  )) !== undefined;

/**
 * Inserts nothing for a disabled user, or one who has `max`: behind a lock of the user's row, or two at once both fit.
 * Conflicts with a credential that is registered, for whatever user: its id is the primary key.
 */
export const insertPasskey = (passkey: Passkey, max: number): Sql =>
  sql`insert into passkeys ${Passkey.select(passkey)}
        from users u where u.user_id = ${passkey.user_id} and u.disabled_at is null
         and (select count(*) from passkeys p where p.user_id = u.user_id) < ${max}`;

export const isRegistered = (part: Part, credential_id: string): Promise<boolean> =>
  part.holds(sql`exists (select 1 from passkeys where credential_id = ${credential_id})`);

export type PasskeyUse = { sign_count: number; backedUp: boolean; at: number };

/**
 * Records a use. No change when the signature counter has not grown, which two devices with one key cannot avoid
 * (WebAuthn §6.1.1); an authenticator that does not count says 0 each time.
 */
export const usePasskey = ({ credential_id, user_id }: Passkey, { sign_count, backedUp, at }: PasskeyUse): Sql =>
  sql`update passkeys
         set sign_count = ${sign_count}, last_used_at = ${at},
             backed_up_at = ${backedUp ? sql`coalesce(backed_up_at, ${asBigint(at)})` : sql`null`}
       where credential_id = ${credential_id} and user_id = ${user_id}
         and (sign_count < ${sign_count} ${sign_count === 0 ? sql`or sign_count = 0` : sql``})`;

export const passkeyExists = ({ credential_id, user_id }: Passkey): Sql =>
  sql`exists (select 1 from passkeys where credential_id = ${credential_id} and user_id = ${user_id})`;

export const renamePasskey = ({ credential_id, user_id }: Passkey, name: string): Sql =>
  sql`update passkeys set name = ${name} where credential_id = ${credential_id} and user_id = ${user_id}`;

export const deletePasskey = ({ credential_id, user_id }: Passkey): Sql =>
  sql`delete from passkeys where credential_id = ${credential_id} and user_id = ${user_id}`;

export const deletePasskeysOfUser = (user_id: UserId): Sql => sql`delete from passkeys where user_id = ${user_id}`;
