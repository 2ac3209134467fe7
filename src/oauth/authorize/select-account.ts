import { now } from '../../clock.ts';
import type { Deps } from '../../deps.ts';
import { markAccountSelected, type PendingRequest } from './store.ts';

/** Remembers that the person goes on as who they are (`prompt=select_account`, OIDC Core §3.1.2.1). */
export const selectAccount = (
  deps: Pick<Deps, 'db' | 'clock'>,
  { request_id }: Pick<PendingRequest, 'request_id'>,
): Promise<unknown> => markAccountSelected(deps.db, request_id, now(deps));
