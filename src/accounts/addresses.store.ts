import type { Part } from '../platform/db/db.ts';
import { id, row, text } from '../platform/db/rows.ts';
import { oneOf, sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { emailKeys } from '../platform/email-address.ts';
import type { UserId } from '../platform/ids.ts';
import { isAddressed, User } from './store.ts';

export type AddressDeps = Pick<Deps, 'db' | 'placement'>;

/** Where the account of an address is made. */
export const partOfEmail = ({ db, placement }: AddressDeps, email: string): Part =>
  db.in(placement.bucketOfEmail(email));

/** The account of an address: of two that are one mailbox, the one that is spelled so; else the one that has the key. */
export const findUserByEmail = async (deps: AddressDeps, email: string): Promise<User | undefined> => {
  const users = await partOfEmail(deps, email).all(
    User,
    sql`select ${User.columns} from users where ${isAddressed(email)}`,
  );
  const spelled = email.trim().toLowerCase();
  return (
    users.find((user) => user.email.toLowerCase() === spelled) ??
    users.find((user) => user.same_mailbox_as === null) ??
    users[0]
  );
};

const AddressedUser = row('users', { user_id: id<UserId>(), email_key: text });

/** The accounts of some addresses, by all keys that these may have. */
export const usersOfAddresses = async (deps: AddressDeps, emails: readonly string[]) => {
  const byPart = [...Map.groupBy(emails, (email) => partOfEmail(deps, email))].map(([part, some]) =>
    part.all(
      AddressedUser,
      sql`select ${AddressedUser.columns} from users where email_key in ${oneOf(some.flatMap(emailKeys))}`,
    ),
  );
  return (await Promise.all(byPart)).flat();
};
