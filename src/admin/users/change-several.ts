import { readAdministratorProblem } from '../../accounts/administrators.ts';
import { findUser, type User } from '../../accounts/statements.ts';
import { type Caller, readReason } from '../../audit/audit.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Edited } from '../../platform/edited.ts';
import { fieldProblem, invalidFields, RequestError, refusal } from '../../platform/errors.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import { changeRole, disableUser, signOutUser } from './administer-user.ts';

/** In the order of the form. */
export const bulkActions = ['sign_out', 'disable', 'make_administrator', 'remove_administrator'] as const;
export type BulkAction = (typeof bulkActions)[number];

export const changesRole = (action: BulkAction): boolean =>
  action === 'make_administrator' || action === 'remove_administrator';

/** Each is a change of its own, with its event and its mail. */
export const maxSelected = 100;

type Act = (deps: Deps, caller: Caller, user_id: string, reason: string) => Promise<Edited<User> | undefined>;
const acts: Readonly<Record<BulkAction, Act>> = {
  sign_out: signOutUser,
  disable: (...what) => disableUser(...what).then(() => undefined), // refused if it is so already
  make_administrator: (deps, caller, user_id, reason) => changeRole(deps, caller, user_id, 'admin', reason),
  remove_administrator: (deps, caller, user_id, reason) => changeRole(deps, caller, user_id, 'user', reason),
};

/** What an action would leave as it is. */
function alreadySo(action: BulkAction, { disabled_at, role }: User): MessageDescriptor | undefined {
  if (action === 'disable' && disabled_at !== null) return { key: 'admin.users.bulk.already.disable' };
  if (action === 'make_administrator' && role === 'admin')
    return { key: 'admin.users.bulk.already.make_administrator' };
  if (action === 'remove_administrator' && role === 'user') {
    return { key: 'admin.users.bulk.already.remove_administrator' };
  }
  return undefined;
}

export type Selected = { user: User; problem: MessageDescriptor | undefined };

/** Whom an action would affect, and whom not, and why: for a page to confirm. Users who are not there are left out. */
export async function previewOf(
  deps: Deps,
  caller: Caller,
  action: BulkAction,
  user_ids: readonly string[],
): Promise<Selected[]> {
  const users = await Promise.all(user_ids.slice(0, maxSelected).map((user_id) => findUser(deps.db, user_id)));
  return Promise.all(
    users
      .filter((user) => user !== undefined)
      .map(async (user) => ({ user, problem: await problemOf(deps, caller, action, user) })),
  );
}

async function problemOf(deps: Deps, caller: Caller, action: BulkAction, user: User) {
  if (isOwn(caller, user.user_id)) return { key: 'users.own_bulk' } as const;
  return alreadySo(action, user) ?? readAdministratorProblem(deps, caller, user.user_id);
}

const isOwn = ({ actor }: Caller, user_id: string): boolean => actor === `user:${user_id}`;

/** Not changed: what was refused, and what was so already. */
export type BulkResult = { user_id: string; isChanged: boolean; refusal: RequestError | undefined };

/**
 * Does one thing to several users, one after the other, each as if alone: what is refused for one does not stop the others.
 * Never to the caller's own account.
 * @throws {RequestError} `invalid_request` for none or too many users, and for a reason that is none; what is no refusal of a
 * user, such as `temporarily_unavailable`.
 */
export async function changeSeveral(
  deps: Deps,
  caller: Caller,
  { action, user_ids, reason }: { action: BulkAction; user_ids: readonly string[]; reason: string },
): Promise<BulkResult[]> {
  const why = readReason(reason);
  const selected = [...new Set(user_ids)];
  if (selected.length === 0 || selected.length > maxSelected) {
    throw invalidFields([fieldProblem('user_ids', { key: 'problem.users.selected', values: { max: maxSelected } })]);
  }
  const results: BulkResult[] = [];
  for (const user_id of selected) {
    results.push({ user_id, ...(await resultOf(() => changeOne(deps, caller, { action, user_id, why }))) });
  }
  return results;
}

async function changeOne(
  deps: Deps,
  caller: Caller,
  { action, user_id, why }: { action: BulkAction; user_id: string; why: string },
) {
  if (isOwn(caller, user_id)) throw refusal('access_denied', { key: 'users.own_bulk' });
  return acts[action](deps, caller, user_id, why);
}

async function resultOf(change: () => ReturnType<Act>): Promise<Omit<BulkResult, 'user_id'>> {
  try {
    const edited = await change();
    return { isChanged: edited?.isChanged ?? true, refusal: undefined };
  } catch (error) {
    if (error instanceof RequestError && error.status < 500) return { isChanged: false, refusal: error };
    throw error;
  }
}
