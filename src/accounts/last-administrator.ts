import type { Caller } from '../audit/audit.ts';
import type { Statement } from '../platform/db/db.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { failUnless } from './one-time-links/store.ts';
import { hasAdministrator, isNotLastAdministrator, lockAdministrators } from './store.ts';

/**
 * First in a batch that takes an administrator away: it fails as a whole, with a unique violation, if no other one
 * would be left who may sign in. The command line is not stopped: whoever may run it bars a stolen account at once, and
 * invites the next administrator.
 * @param once the id of the batch's event.
 */
export const requireAnotherAdministrator = (
  { actor }: Caller,
  user_id: string,
  once: string,
  now: number,
): Statement[] =>
  actor === 'cli'
    ? []
    : [lockAdministrators(), failUnless(isNotLastAdministrator(user_id), `${once}:administrator`, now)];

export const lastAdministrator = () =>
  refusal('invalid_state', { key: 'users.last_administrator' }, { details: { current_status: 'last_administrator' } });

/** Whether any account is an administrator's. */
export const hasAnyAdministrator = (deps: Pick<Deps, 'db'>): Promise<boolean> => hasAdministrator(deps.db);
