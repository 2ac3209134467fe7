import { domainToASCII } from 'node:url';
import { findUser } from '../accounts/users.ts';
import type { Deps } from '../platform/deps.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { isIpAddress } from '../platform/ip-address.ts';
import type { Client } from './client.ts';

/**
 * What a client shows of itself: a name and two addresses. People decide by them whom to trust, so a name must look
 * like what it is (OAuth 2.1 §7.12). The server fetches neither address, ever.
 */

const longestUrl = 2048;

/** Alphabets that share shapes with each other: "Рау" can be Cyrillic, and with a Latin "l" after it, is a disguise. */
const lookalikeScripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];

/** What a reviewer should know about a name before approving it. Honest names do this too, so it refuses nothing. */
export function nameWarning(name: string): string | undefined {
  const mixed = lookalikeScripts.filter((script) => script.test(name)).length > 1;
  return mixed ? 'This name mixes alphabets with similar-looking letters, so it may imitate another name.' : undefined;
}

/** What stands against a logo. An IP address is refused: a logo lives on a host that somebody has a certificate for. */
export function logoUrlProblem(text: string): MessageDescriptor | undefined {
  const problem = homepageUrlProblem(text);
  if (problem !== undefined) return problem;
  const host = new URL(text).hostname;
  const isNamed = !isIpAddress(host) && host !== 'localhost' && !host.endsWith('.localhost');
  return isNamed ? undefined : { key: 'problem.logo_url.host' };
}

/** What stands against a homepage: anything that is not plainly https, such as `javascript:` in whatever letters. */
export function homepageUrlProblem(text: string): MessageDescriptor | undefined {
  if (text.length > longestUrl) return { key: 'problem.url.long', values: { most: longestUrl } };
  const url = /^https:\/\/[\x21-\x7e]+$/.test(text) && !/["'<>\\^`{|}]/.test(text) ? URL.parse(text) : null;
  if (url === null) return { key: 'problem.url.https' };
  if (url.username || url.password) return { key: 'problem.url.userinfo' };
  return undefined;
}

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
