import { domainToASCII } from 'node:url';
import { findUser } from '../accounts/statements.ts';
import type { Deps } from '../platform/deps.ts';
import type { Client } from './client.ts';

// What a client shows of itself: a name and two URLs. Users decide by them whom to trust, so a name must look like what it
// is (OAuth 2.1 §7.12). The server fetches neither URL, ever.

/** Alphabets that share shapes: "Рау" can be Cyrillic. */
const lookalikeScripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];

/** For reviewers: such a name may imitate another one. Honest names do this too, so it refuses nothing. */
export const mixesScripts = (name: string): boolean =>
  lookalikeScripts.filter((script) => script.test(name)).length > 1;

/**
 * Who is responsible for a client: the operator, a deleted user, or an owner, of whom at most the domain of a verified
 * address is shown. The name that a user chose is not reviewed, so it proves nothing.
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
  // In ASCII, as the host beside it, where no letter looks like another.
  return { domain: domainToASCII(owner.email.split('@').at(-1) ?? '') || undefined };
}
