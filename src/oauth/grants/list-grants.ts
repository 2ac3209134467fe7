import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { activeGrantsOf, type ListedGrant } from './grant-lists.store.ts';

/** What a person has let clients have, newest first. */
export const listGrants = (deps: StoreDeps, user_id: string, limit: number): Promise<ListedGrant[]> =>
  activeGrantsOf(deps.db, user_id, now(deps), limit);

/** A live grant as those see it who run the service. Times are Unix seconds. */
export const grantRecord = ({ scope, refreshed_at, idle_expires_at: _, ...grant }: ListedGrant) => ({
  ...grant,
  scope: scope.split(' '),
  last_used_at: refreshed_at,
});
