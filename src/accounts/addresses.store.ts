import type { Claim, Claimed, ClaimKind } from '../platform/claims.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { id, row, text } from '../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { emailKey, emailKeys } from '../platform/email-address.ts';
import type { UserId } from '../platform/ids.ts';
import { findUser, isAddressed, isEmailFree, isEmailTaken, User } from './store.ts';

export type AddressDeps = Pick<Deps, 'db' | 'placement' | 'claims'>;

/** Where the account of an address is made. */
export const partOfEmail = ({ db, placement }: Pick<Deps, 'db' | 'placement'>, email: string): Part =>
  db.in(placement.bucketOfEmail(email));

/** Of a user who has the address without having been placed by it, as after a change of address. */
export const claimOfEmail = (deps: Pick<Deps, 'db' | 'placement'>, email: string): Claim => ({
  part: partOfEmail(deps, email),
  key: `email:${emailKey(email)}`,
  isTaken: isEmailTaken(email),
});

/** What a user claims and gives up who changes from one address to another. */
export const claimsOfChange = (deps: Pick<Deps, 'db' | 'placement'>, from: string, to: string): Claimed =>
  emailKey(from) === emailKey(to) ? {} : { taken: [claimOfEmail(deps, to)], givenUp: [claimOfEmail(deps, from)] };

/**
 * Conditions for the mails of a change: that the address is free, and that it is taken. In a store of several parts it may be taken
 * in another one than that of the change, so what was read before decides.
 * @param owner who has it by {@link findUserByEmail}.
 */
export const ifFree = ({ db }: Pick<Deps, 'db'>, email: string, owner: User | undefined): { free: Sql; taken: Sql } => {
  if (db.parts.length === 1) return { free: isEmailFree(email), taken: isEmailTaken(email) };
  const when = (isSo: boolean) => sql`${isSo ? 1 : 0} = 1`; // one text for both, as the statements of one part
  return { free: when(owner === undefined), taken: when(owner !== undefined) };
};

/** See {@link openClaims}: of the key of an address. */
export const emailClaims = (db: Db): ClaimKind => ({
  isKept: true,
  isHeld: (user_id, key) =>
    db
      .of(user_id)
      .holds(
        sql`exists (select 1 from users where user_id = ${user_id} and email_key = ${key} and deleted_at is null)`,
      ),
});

/**
 * The account of an address: of two that are one mailbox, the one that is spelled so; else the one that has the key. Whether there is one
 * does not show in what it asks: the claim of the address is read even where it is not needed (PW-03).
 */
export const findUserByEmail = async (deps: AddressDeps, email: string): Promise<User | undefined> => {
  const [users, holder] = await Promise.all([
    partOfEmail(deps, email).all(User, sql`select ${User.columns} from users where ${isAddressed(email)}`),
    deps.claims.holderOf(claimOfEmail(deps, email)),
  ]);
  const spelled = email.trim().toLowerCase();
  return (
    users.find((user) => user.email.toLowerCase() === spelled) ??
    users.find((user) => user.same_mailbox_as === null) ??
    users[0] ??
    (await claimantOf(deps, email, holder))
  );
};

async function claimantOf({ db }: AddressDeps, email: string, holder: UserId | undefined): Promise<User | undefined> {
  const user = holder && (await findUser(db, holder));
  return user && emailKey(user.email) === emailKey(email) ? user : undefined;
}

const AddressedUser = row('users', { user_id: id<UserId>(), email_key: text });

/** The accounts of some addresses, by all keys that these may have. */
export const usersOfAddresses = async (deps: AddressDeps, emails: readonly string[]) => {
  const byPart = [...Map.groupBy(emails, (email) => partOfEmail(deps, email))].map(([part, some]) =>
    part.all(
      AddressedUser,
      sql`select ${AddressedUser.columns} from users where email_key in ${oneOf(some.flatMap(emailKeys))}`,
    ),
  );
  const found = (await Promise.all(byPart)).flat();
  if (deps.db.parts.length === 1) return found;
  const claimants = await Promise.all(
    emails.map(async (email) => claimantOf(deps, email, await deps.claims.holderOf(claimOfEmail(deps, email)))),
  );
  return [
    ...found,
    ...claimants.flatMap((user) => (user ? [{ user_id: user.user_id, email_key: emailKey(user.email) }] : [])),
  ];
};
