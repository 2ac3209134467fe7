import { text } from 'node:stream/consumers';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { LockState } from '../limits/failure-limits.ts';
import { changeRole, signOutUser, unlockUser } from '../users/administer-user.ts';
import { createUser } from '../users/create-user.ts';
import { disableUser, enableUser } from '../users/disable-user.ts';
import { findUsers, userOverview, userRecord } from '../users/read-user.ts';
import { resetFactors } from '../users/reset-factors.ts';
import { findUser, findUserByEmail, listUsers } from '../users/store.ts';
import type { User } from '../users/user.ts';
import { type Command, type Report, table, time, UsageError } from './command.ts';

const statusOf = (user: User) => (user.disabled_at === null ? 'enabled' : 'disabled');
const caller = { actor: 'cli' } as const;
const operands = ['user_id or e-mail'];

const describe = (user: User) =>
  table([
    ['User', user.user_id],
    ['E-mail', `${user.email}${user.email_verified_at === null ? ' (not verified)' : ''}`],
    ['Name', user.name ?? '-'],
    ['Role', user.role],
    ['Status', statusOf(user)],
    ['Created', time(user.created_at)],
  ]);

/** By id or by e-mail address. @throws {RequestError} `not_found`. */
export async function findPerson(deps: Deps, who: string): Promise<User> {
  const user = who.includes('@') ? await findUserByEmail(deps.db, who) : await findUser(deps.db, who);
  if (!user) throw notFound();
  return user;
}

const show = async (deps: Deps, user_id: string) => {
  const user = await findPerson(deps, user_id);
  return { json: userRecord(user), text: describe(user) };
};

async function overview(deps: Deps, user_id: string): Promise<Report> {
  const { user, factors, lock, counts } = await userOverview(deps, user_id);
  const text = table([
    ['Password', factors.password ? lockText(lock) : '-'],
    ['Authenticator app', factors.totp],
    ['Backup codes', `${factors.backup_codes.remaining} of ${factors.backup_codes.total}`],
    ['Passkeys', String(factors.passkeys)],
    ['Providers', factors.identities.map(({ provider }) => provider).join(' ') || '-'],
    ...Object.entries(counts).map(([name, count]) => [name.charAt(0).toUpperCase() + name.slice(1), String(count)]),
  ]);
  return { json: { ...userRecord(user), factors, lock, counts }, text: `${describe(user)}\n${text}` };
}

function lockText({ failures, blocked_until, disabled }: LockState): string {
  if (disabled) return `disabled after ${failures} wrong ones, until it is reset or unlocked`;
  return blocked_until === null ? 'set' : `blocked until ${time(blocked_until)} after ${failures} wrong ones`;
}

const listed = (users: readonly User[]): Report => {
  const rows = users.map((user) => [user.user_id, user.email, user.role, statusOf(user), time(user.created_at)]);
  return {
    json: { users: users.map(userRecord) },
    text: table([['USER', 'E-MAIL', 'ROLE', 'STATUS', 'CREATED'], ...rows]),
  };
};

export const userCommands: Record<string, Command> = {
  'users create': {
    usage: 'users create --email <address> --name <name> [--admin] [--verified] --password-stdin',
    begins: true,
    summary: 'Makes an account. The password is read from standard input, so that it stays out of the process list.',
    options: {
      email: { type: 'string', help: 'e-mail address, which is the sign-in name', required: true },
      name: { type: 'string', help: 'display name', required: true },
      admin: { type: 'boolean', help: 'make an administrator' },
      verified: { type: 'boolean', help: 'you vouch that the address belongs to this person' },
      'password-stdin': { type: 'boolean', help: 'read the password from standard input (needed)' },
    },
    async run(deps, values) {
      if (!values['password-stdin']) throw new UsageError('--password-stdin is missing: pipe the password in.');
      const password = (await text(process.stdin)).replace(/\r?\n$/, '');
      const user_id = await createUser(
        deps,
        {
          email: String(values.email),
          name: String(values.name),
          password,
          role: values.admin ? 'admin' : 'user',
          emailVerified: values.verified === true,
        },
        'cli',
      );
      return show(deps, user_id);
    },
  },
  'users list': {
    usage: 'users list',
    summary: 'Lists all accounts, oldest first.',
    run: async (deps) => listed(await listUsers(deps.db)),
  },
  'users find': {
    usage: 'users find <query>',
    summary: 'Finds accounts by the beginning of the e-mail address, a part of the name, or the id. Newest first.',
    operands: ['query'],
    run: async (deps, _values, [query = '']) => listed((await findUsers(deps, { query, limit: 500 })).users),
  },
  'users show': {
    usage: 'users show <user_id or e-mail> [--all]',
    summary: 'Shows one account; with --all, also how the person signs in, and what they have.',
    operands,
    options: { all: { type: 'boolean', help: 'factors, wrong passwords, and how many sessions, grants, clients' } },
    async run(deps, values, [who = '']) {
      const { user_id } = await findPerson(deps, who);
      return values.all ? overview(deps, user_id) : show(deps, user_id);
    },
  },
  'users disable': {
    usage: 'users disable <user_id or e-mail> [--reason <text>]',
    summary: 'Bars a person at once: sessions end, every grant is revoked, no sign-in until enabled again.',
    operands,
    options: { reason: { type: 'string', help: 'kept in the audit log' } },
    async run(deps, values, [who = '']) {
      const { user_id } = await findPerson(deps, who);
      await disableUser(deps, user_id, 'cli', values.reason === undefined ? undefined : String(values.reason));
      return show(deps, user_id);
    },
  },
  'users unlock': {
    usage: 'users unlock <user_id or e-mail>',
    summary: 'Forgets the wrong passwords of a person, also when there were so many that the password is disabled.',
    operands,
    async run(deps, _values, [who = '']) {
      const { user_id } = await findPerson(deps, who);
      await unlockUser(deps, caller, user_id);
      return show(deps, user_id);
    },
  },
  'users enable': {
    usage: 'users enable <user_id or e-mail>',
    summary: 'Lets a disabled person sign in again. What was ended stays ended.',
    operands,
    async run(deps, _values, [who = '']) {
      const { user_id } = await findPerson(deps, who);
      await enableUser(deps, user_id, 'cli');
      return show(deps, user_id);
    },
  },
  'users sign-out': {
    usage: 'users sign-out <user_id or e-mail>',
    summary: 'Ends every session and every grant of a person, at once and everywhere.',
    operands,
    async run(deps, _values, [who = '']) {
      const { user_id } = await findPerson(deps, who);
      await signOutUser(deps, caller, user_id);
      return show(deps, user_id);
    },
  },
  'users reset-factors': {
    usage: 'users reset-factors <user_id or e-mail> --reason <text>',
    summary: 'Takes away authenticator app, backup codes and passkeys, signs the person out, and tells them by mail.',
    operands,
    options: { reason: { type: 'string', help: 'kept in the audit log', required: true } },
    async run(deps, values, [who = '']) {
      const { user_id } = await findPerson(deps, who);
      await resetFactors(deps, caller, user_id, String(values.reason));
      return overview(deps, user_id);
    },
  },
  'users role': {
    usage: 'users role <user_id or e-mail> --role admin|user',
    summary: 'Makes a person an administrator, or no longer one.',
    operands,
    options: { role: { type: 'string', help: 'admin or user', required: true } },
    async run(deps, values, [who = '']) {
      const role = (['admin', 'user'] as const).find((one) => one === values.role);
      if (!role) throw new UsageError('--role takes admin or user.');
      const { user_id } = await findPerson(deps, who);
      await changeRole(deps, caller, user_id, role);
      return show(deps, user_id);
    },
  },
};
