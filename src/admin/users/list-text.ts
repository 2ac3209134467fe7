import { list, time } from '../../platform/report.ts';
import { visibleText } from '../../platform/text.ts';
import { factorWords } from './factor-words.ts';
import type { listedRecord } from './read-user.ts';

type ListedRecord = ReturnType<typeof listedRecord>;
type Listed = { users: readonly ListedRecord[]; next: string | null; complete: boolean };

const longestName = 30;
const passwordLocked = 'password locked';

export function describeUsers({ users, next, complete }: Listed): string {
  const rows = users.map((one) => [
    one.user_id,
    one.email,
    one.name === null ? null : visibleText(one.name, longestName),
    one.role,
    one.status === 'enabled' && one.locked ? passwordLocked : one.status,
    time(one.last_sign_in_at),
    factorWords(one.factors),
    time(one.created_at),
  ]);
  return [
    ...(users.length === 0
      ? ['No users found.']
      : [list([['USER', 'EMAIL', 'NAME', 'ROLE', 'STATUS', 'LAST SIGN-IN', 'FACTORS', 'CREATED'], ...rows])]),
    ...(rows.some((row) => row.includes(passwordLocked))
      ? [`${passwordLocked}: no password is accepted at present from browsers that are new to the account.`]
      : []),
    ...(complete
      ? []
      : ['The search does not cover all users yet. Until it does, look for a full email address or a user ID.']),
    ...(next === null ? [] : [`More results: --after ${next}`]),
  ].join('\n\n');
}
