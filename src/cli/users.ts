import { text } from 'node:stream/consumers';
import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { passwordLimits } from '../limits/failure-limits.ts';
import { createUser } from '../users/create-user.ts';
import { disableUser, enableUser } from '../users/disable-user.ts';
import { findUser, findUserByEmail, listUsers } from '../users/store.ts';
import type { User } from '../users/user.ts';
import { type Command, table, time, UsageError } from './command.ts';

const statusOf = (user: User) => (user.disabled_at === null ? 'enabled' : 'disabled');

const record = (user: User) => ({
  user_id: user.user_id,
  email: user.email,
  email_verified: user.email_verified_at !== null,
  name: user.name,
  role: user.role,
  status: statusOf(user),
  created_at: user.created_at,
});

const describe = (user: User) =>
  table([
    ['User', user.user_id],
    ['E-mail', `${user.email}${user.email_verified_at === null ? ' (not verified)' : ''}`],
    ['Name', user.name ?? '-'],
    ['Role', user.role],
    ['Status', statusOf(user)],
    ['Created', time(user.created_at)],
  ]);

/** By id or by e-mail address. */
async function find(deps: Deps, who: string): Promise<User> {
  const user = who.includes('@') ? await findUserByEmail(deps.db, who) : await findUser(deps.db, who);
  if (!user) throw notFound();
  return user;
}

const show = async (deps: Deps, user_id: string) => {
  const user = await find(deps, user_id);
  return { json: record(user), text: describe(user) };
};

export const userCommands: Record<string, Command> = {
  'users create': {
    usage: 'users create --email <address> --name <name> [--admin] [--verified] --password-stdin',
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
    async run(deps) {
      const users = await listUsers(deps.db);
      const rows = users.map((user) => [user.user_id, user.email, user.role, statusOf(user), time(user.created_at)]);
      return {
        json: { users: users.map(record) },
        text: table([['USER', 'E-MAIL', 'ROLE', 'STATUS', 'CREATED'], ...rows]),
      };
    },
  },
  'users show': {
    usage: 'users show <user_id or e-mail>',
    summary: 'Shows one account.',
    operands: ['user_id or e-mail'],
    run: (deps, _values, [who = '']) => show(deps, who),
  },
  'users disable': {
    usage: 'users disable <user_id or e-mail> [--reason <text>]',
    summary: 'Bars a person at once: sessions end, every grant is revoked, no sign-in until enabled again.',
    operands: ['user_id or e-mail'],
    options: { reason: { type: 'string', help: 'kept in the audit log' } },
    async run(deps, values, [who = '']) {
      const { user_id } = await find(deps, who);
      await disableUser(deps, user_id, 'cli', values.reason === undefined ? undefined : String(values.reason));
      return show(deps, user_id);
    },
  },
  'users unlock': {
    usage: 'users unlock <user_id or e-mail>',
    summary: 'Forgets the wrong passwords of a person, also when there were so many that the password is disabled.',
    operands: ['user_id or e-mail'],
    async run(deps, _values, [who = '']) {
      const user = await find(deps, who);
      const { statement } = auditEvent({ action: 'user.unlocked', actor: 'cli', target: user.user_id }, now(deps));
      await deps.db.batch([passwordLimits(deps).reset(user.email), statement]);
      return show(deps, user.user_id);
    },
  },
  'users enable': {
    usage: 'users enable <user_id or e-mail>',
    summary: 'Lets a disabled person sign in again. What was ended stays ended.',
    operands: ['user_id or e-mail'],
    async run(deps, _values, [who = '']) {
      const { user_id } = await find(deps, who);
      await enableUser(deps, user_id, 'cli');
      return show(deps, user_id);
    },
  },
};
