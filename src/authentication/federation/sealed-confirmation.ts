import type { Deps } from '../../platform/deps.ts';
import { newSecret } from '../../platform/ids.ts';
import type { Confirmation } from './confirmation.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import type { UpstreamAuthorization } from './upstream-authorization.ts';

/** What a yes to a {@link Confirmation} goes on with. It waits in the page's form, sealed. */
export type SealedConfirmation = {
  /** Of the detour in the browser's cookie: in another browser a yes is worth nothing. */
  state: string;
  account: UpstreamAccount;
  agreement: string;
  /** For one yes. */
  once: string;
};

const purpose = 'federation-answer';

export const sealConfirmation = (
  deps: Pick<Deps, 'vault'>,
  { state }: UpstreamAuthorization,
  account: UpstreamAccount,
  { agreement }: Confirmation,
): string => {
  const sealedConfirmation: SealedConfirmation = { state, account, agreement, once: newSecret() };
  return deps.vault.browser.seal(purpose, JSON.stringify(sealedConfirmation));
};

/** @returns undefined for an answer that is missing, altered, or to another detour. */
export function openConfirmation(
  deps: Pick<Deps, 'vault'>,
  sealed: string | undefined,
  { state }: UpstreamAuthorization,
): SealedConfirmation | undefined {
  if (sealed === undefined) return undefined;
  try {
    const sealedConfirmation = JSON.parse(deps.vault.browser.open(purpose, sealed)) as SealedConfirmation;
    return sealedConfirmation.state === state ? sealedConfirmation : undefined;
  } catch {
    return undefined;
  }
}
