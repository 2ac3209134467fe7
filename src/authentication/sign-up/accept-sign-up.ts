import { requireLink, spentLink } from '../../accounts/one-time-links/link.ts';
import type { OneTimeLink } from '../../accounts/one-time-links/store.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { passwordLimits } from '../../platform/limits/failure-limits.ts';
import { createUser } from '../account-links/create-user.ts';
import type { Deps } from '../deps.ts';

/** `address` is where the request came from. */
type Acceptance = { name: string; password: string; locale: Locale; address: string };

/**
 * Uses the link up and makes the account, both or neither. The link has proved the address.
 * @throws {RequestError} `invalid_request`, with `fields` when the link is still good and something else is not.
 */
export async function acceptSignUp(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords'>,
  token: string,
  { address, ...acceptance }: Acceptance,
): Promise<{ user_id: string; link: OneTimeLink }> {
  const link = await requireLink(deps, token, ['sign_up']);
  const account = { ...acceptance, email: link.email, role: 'user', emailVerified: true } as const;
  const also = passwordLimits(deps).reset(link.email); // of guesses at this address before it had an account
  const permission = { link, also, spent: () => spentLink('sign_up') };
  return { user_id: await createUser(deps, account, { address }, permission), link };
}
