import type { Caller } from '../audit/audit.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import type { UserId } from '../platform/ids.ts';
import { hasAdministrator, isNotLastAdministrator, lockAdministrators } from './store.ts';

/**
 * Lock and requirement of a change that takes an administrator away: another one who can sign in has to be left. The
 * command line is exempt: an operator disables a stolen account at once, and invites the next administrator.
 */
export const requireAnotherAdministrator = (
  { actor }: Caller,
  user_id: UserId,
): { lock: readonly Sql[]; require: { anotherAdministrator?: Sql } } =>
  actor === 'cli'
    ? { lock: [], require: {} }
    : { lock: [lockAdministrators()], require: { anotherAdministrator: isNotLastAdministrator(user_id) } };

export const lastAdministrator = () =>
  refusal('invalid_state', { key: 'users.last_administrator' }, { details: { current_status: 'last_administrator' } });

/** Whether any account is an administrator's. */
export const hasAnyAdministrator = (deps: Pick<Deps, 'db'>): Promise<boolean> => hasAdministrator(deps.db);
