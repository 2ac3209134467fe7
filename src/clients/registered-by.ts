import { domainToASCII } from 'node:url';
import { findUser } from '../accounts/store.ts';
import type { Deps } from '../platform/deps.ts';
import type { Client } from './client.ts';

/**
 * Who answers for a client: the operator, a deleted account, or an owner, shown by the domain of a verified address at
 * most. The name that a user chose is not reviewed, so it proves nothing.
 */
export type RegisteredBy = 'operator' | 'gone' | { domain: string | undefined };

export async function registeredBy(
  { db }: Pick<Deps, 'db'>,
  { is_first_party, owner_user_id }: Client,
): Promise<RegisteredBy> {
  if (is_first_party) return 'operator';
  const owner = owner_user_id === null ? undefined : await findUser(db, owner_user_id);
  if (owner === undefined) return 'gone';
  if (owner.email_verified_at === null) return { domain: undefined };
  // In the letters of the domain name system, as the host of the app stands beside it: no letter looks like another.
  return { domain: domainToASCII(owner.email.split('@').at(-1) ?? '') || undefined };
}
