import { text } from 'node:stream/consumers';
import { findUser, findUserByEmail, hasAdministrator, listUsers } from '../accounts/store.ts';
import type { User } from '../accounts/user.ts';
import { changeRole, signOutUser, unlockUser } from '../admin/users/administer-user.ts';
import { disableUser, enableUser } from '../admin/users/disable-user.ts';
import { findUsers, userOverview, userRecord } from '../admin/users/read-user.ts';
import { resetFactors } from '../admin/users/reset-factors.ts';
import type { Deps } from '../app/deps.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import { type Report, table, time } from '../platform/cli/report.ts';
import { notFound } from '../platform/errors.ts';
import type { LockState } from '../platform/limits/failure-limits.ts';
import { command, UsageError } from './command.ts';

const caller = { actor: 'cli' } as const;
/** The operand of everything about one person. */
export const person = { who: { value: 'user_id or e-mail' } } as const;
const maxFound = 500;

const rowsOf = (user: User) => [
  ['User', user.user_id],
  ['E-mail', `${user.email}${user.email_verified_at === null ? ' (not verified)' : ''}`],
  ['Name', user.name ?? '-'],
  ['Role', user.role],
  ['Status', userRecord(user).status],
  ['Created', time(user.created_at)],
];

/** By id or by e-mail address. @throws {RequestError} `not_found`. */
export async function findPerson(deps: Deps, who: string): Promise<User> {
  const user = who.includes('@') ? await findUserByEmail(deps.db, who) : await findUser(deps.db, who);
  if (!user) throw notFound();
  return user;
}

async function show(deps: Deps, who: string): Promise<Report> {
  const user = await findPerson(deps, who);
  return { json: userRecord(user), text: table(rowsOf(user)) };
}

async function overview(deps: Deps, who: string): Promise<Report> {
  const { user, factors, lock, counts } = await userOverview(deps, (await findPerson(deps, who)).user_id);
  const text = table([
    ...rowsOf(user),
    ['Password', factors.password ? lockText(lock) : '-'],
    ['Authenticator app', factors.totp],
    ['Backup codes', `${factors.backup_codes.remaining} of ${factors.backup_codes.total}`],
    ['Passkeys', String(factors.passkeys)],
    ['Providers', factors.identities.map(({ provider }) => provider).join(' ') || '-'],
    ...Object.entries(counts).map(([name, count]) => [name.charAt(0).toUpperCase() + name.slice(1), String(count)]),
  ]);
  return { json: { ...userRecord(user), factors, lock, counts }, text };
}

function lockText({ failures, blocked_until, disabled }: LockState): string {
  if (disabled) return `disabled after ${failures} wrong ones, until it is reset or unlocked`;
  return blocked_until === null ? 'set' : `blocked until ${time(blocked_until)} after ${failures} wrong ones`;
}

function found(users: readonly User[]): Report {
  const records = users.map(userRecord);
  const rows = records.map((one) => [one.user_id, one.email, one.role, one.status, time(one.created_at)]);
  return { json: { users: records }, text: table([['USER', 'E-MAIL', 'ROLE', 'STATUS', 'CREATED'], ...rows]) };
}

/** Does something to a person, says so, and shows what they are then. */
async function change(deps: Deps, who: string, said: string, act: (user_id: string) => Promise<unknown>, then = show) {
  const { user_id } = await findPerson(deps, who);
  await act(user_id);
  const { json, text } = await then(deps, user_id);
  return { json, text: `${said}\n\n${text}` };
}

const nobodyLeft = 'There is no administrator any more. Make one: bin/signet admin invite';

/** For what may take the last administrator away: on the command line it is done, and told. */
async function changeOfRank(...[deps, ...how]: Parameters<typeof change>): Promise<Report> {
  const { json, text } = await change(deps, ...how);
  return { json, text: (await hasAdministrator(deps.db)) ? text : `${text}\n\n${nobodyLeft}` };
}

const saidOf = {
  admin: 'An administrator from the next request on.',
  user: 'No administrator from the next request on.',
} as const;

export const userCommands = {
  'users create': command({
    summary: 'Makes an account. The password is read from standard input, so that it stays out of the process list.',
    options: {
      email: { value: 'address', help: 'e-mail address, which is the sign-in name', required: true },
      name: { value: 'name', help: 'display name', required: true },
      'password-stdin': { help: 'read the password from standard input (needed)' },
      admin: { help: 'make an administrator' },
      verified: { help: 'you vouch that the address belongs to this person' },
    },
    async run(deps, { email, name, admin, verified, ...given }, { stdin }) {
      if (!given['password-stdin']) throw new UsageError('--password-stdin is missing: pipe the password in.');
      const password = (await text(stdin)).replace(/\r?\n$/, '');
      const account = { email, name, password, role: admin ? 'admin' : 'user', emailVerified: verified } as const;
      return show(deps, await createUser(deps, account, 'cli'));
    },
  }),
  'users list': command({
    summary: 'Lists all accounts, oldest first.',
    run: async (deps) => found(await listUsers(deps.db)),
  }),
  'users find': command({
    summary: `Finds accounts by the beginning of the e-mail address, a part of the name, or the id. The newest ${maxFound}, newest first.`,
    operands: { query: { value: 'query' } },
    run: async (deps, { query }) => found((await findUsers(deps, { query, limit: maxFound })).users),
  }),
  'users show': command({
    summary: 'Shows one account; with --all, also how the person signs in, and what they have.',
    operands: person,
    options: { all: { help: 'factors, wrong passwords, and how many sessions, grants, clients' } },
    run: (deps, { who, all }) => (all ? overview(deps, who) : show(deps, who)),
  }),
  'users role': command({
    summary: 'Makes a person an administrator, or no longer one.',
    operands: { ...person, role: { oneOf: ['admin', 'user'] } },
    run: (deps, { who, role }) =>
      changeOfRank(deps, who, saidOf[role], (user_id) => changeRole(deps, caller, user_id, role)),
  }),
  'users sign-out': command({
    summary: 'Ends every session and every grant of a person, at once and everywhere.',
    operands: person,
    run: (deps, { who }) =>
      change(deps, who, 'Signed out everywhere.', (user_id) => signOutUser(deps, caller, user_id)),
  }),
  'users unlock': command({
    summary: 'Forgets the wrong passwords of a person, also when there were so many that the password is disabled.',
    operands: person,
    run: (deps, { who }) =>
      change(deps, who, 'The wrong passwords are forgotten.', (user_id) => unlockUser(deps, caller, user_id)),
  }),
  'users reset-factors': command({
    summary: 'Takes away authenticator app, backup codes and passkeys, signs the person out, and tells them by mail.',
    operands: person,
    options: { reason: { value: 'text', help: 'kept in the audit log', required: true } },
    run: (deps, { who, reason }) =>
      change(
        deps,
        who,
        'Reset, and signed out everywhere.',
        (user_id) => resetFactors(deps, caller, user_id, reason),
        overview,
      ),
  }),
  'users disable': command({
    summary: 'Bars a person at once: sessions end, every grant is revoked, no sign-in until enabled again.',
    operands: person,
    options: { reason: { value: 'text', help: 'kept in the audit log' } },
    run: (deps, { who, reason }) =>
      changeOfRank(deps, who, 'Barred, and signed out everywhere.', (user_id) =>
        disableUser(deps, user_id, 'cli', reason),
      ),
  }),
  'users enable': command({
    summary: 'Lets a disabled person sign in again. What was ended stays ended.',
    operands: person,
    run: (deps, { who }) => change(deps, who, 'May sign in again.', (user_id) => enableUser(deps, user_id, 'cli')),
  }),
};
