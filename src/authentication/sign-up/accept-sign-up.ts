import { isOpenLink, requireLink, spentLink } from '../../accounts/one-time-links/link.ts';
import { type OneTimeLink, spendLink } from '../../accounts/one-time-links/store.ts';
import { RequestError } from '../../platform/errors.ts';
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
  // Somebody may have guessed at this address before it had an account, until it was blocked.
  const also = [spendLink(link), ...passwordLimits(deps).reset(link.email)];
  try {
    return { user_id: await createUser(deps, account, { address }, also), link };
  } catch (error) {
    // The address is taken, or the same link was used this moment: the link itself tells which.
    if (error instanceof RequestError && !(await isOpenLink(deps, token, ['sign_up']))) throw spentLink('sign_up');
    throw error;
  }
}
