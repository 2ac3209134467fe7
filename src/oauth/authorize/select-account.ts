import type { Deps } from '../../platform/deps.ts';
import { markAccountSelected, type PendingRequest } from './store.ts';

/**
 * Remembers which account was chosen for a waiting request (`prompt=select_account`, OIDC Core §3.1.2.1). The choice
 * counts for that user alone: another one who signs in before the code is issued is asked anew.
 */
export const selectAccount = (
  { db }: Pick<Deps, 'db'>,
  { request_id }: Pick<PendingRequest, 'request_id'>,
  user_id: string,
): Promise<unknown> => markAccountSelected(db, request_id, user_id);
