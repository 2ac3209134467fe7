import { isUnprivilegedUser } from '../../accounts/administrators.ts';
import type { Caller } from '../../audit/audit.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';

/**
 * A link to a new password, or another address, is a way into the account. Into that of another administrator, it would let
 * one administrator act in the name of two, where two have to agree; into one's own, it would turn a stolen session into the
 * account. The operator at the command line is exempt.
 * @returns why not; undefined if it is allowed. For a page that offers only what would work.
 */
export async function takeoverProblem(
  deps: StoreDeps,
  { actor }: Caller,
  user_id: string,
): Promise<MessageDescriptor | undefined> {
  if (actor === 'cli') return undefined;
  if (actor === `user:${user_id}`) return { key: 'users.own_access' };
  return (await isUnprivilegedUser(deps, user_id)) ? undefined : { key: 'users.access_of_administrator' };
}

/** @throws {RequestError} `access_denied` for oneself, for an administrator, and for one of the last 24 hours. */
export async function refuseTakeover(deps: StoreDeps, caller: Caller, user_id: string): Promise<void> {
  const problem = await takeoverProblem(deps, caller, user_id);
  if (problem) throw refusal('access_denied', problem);
}
