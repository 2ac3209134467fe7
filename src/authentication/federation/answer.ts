import type { Deps } from '../../platform/deps.ts';
import { newSecret } from '../../platform/ids.ts';
import type { Detour } from './detour.ts';
import type { Question } from './question.ts';
import type { UpstreamAccount } from './upstream-account.ts';

/** What a yes to a {@link Question} goes on with. It waits in the page's form, sealed. */
export type Waiting = {
  /** Of the detour in the browser's cookie: in another browser a yes is worth nothing. */
  state: string;
  account: UpstreamAccount;
  agreement: string;
  /** For one yes. */
  once: string;
};

const purpose = 'federation-answer';

export const sealAnswer = (
  deps: Pick<Deps, 'vault'>,
  { state }: Detour,
  account: UpstreamAccount,
  { agreement }: Question,
): string => {
  const waiting: Waiting = { state, account, agreement, once: newSecret() };
  return deps.vault.browser.seal(purpose, JSON.stringify(waiting));
};

/** @returns undefined for an answer that is missing, altered, or to another detour. */
export function openAnswer(
  deps: Pick<Deps, 'vault'>,
  sealed: string | undefined,
  { state }: Detour,
): Waiting | undefined {
  if (sealed === undefined) return undefined;
  try {
    const waiting = JSON.parse(deps.vault.browser.open(purpose, sealed)) as Waiting;
    return waiting.state === state ? waiting : undefined;
  } catch {
    return undefined;
  }
}
