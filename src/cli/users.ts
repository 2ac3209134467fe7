import { text } from 'node:stream/consumers';
import { requireUser, requireUserByIdOrEmail } from '../accounts/require-user.ts';
import type { User } from '../accounts/user.ts';
import { describeOverview, describeUser } from '../admin/users/operations.ts';
import { allUsers, findUsers, overviewRecord, userOverview, userRecord } from '../admin/users/read-user.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import { type Report, table, time } from '../platform/cli/report.ts';
import { command, UsageError } from './command.ts';

const maxFound = 500;

const show = (user: User): Report => ({ json: userRecord(user), text: describeUser(userRecord(user)) });

function found(users: readonly User[]): Report {
  const records = users.map(userRecord);
  const rows = records.map((one) => [one.user_id, one.email, one.role, one.status, time(one.created_at)]);
  return { json: { users: records }, text: table([['USER', 'E-MAIL', 'ROLE', 'STATUS', 'CREATED'], ...rows]) };
}

/** The commands about users that no operation of the API has. */
export const userCommands = {
  'users create': command({
    summary: 'Create a user. The password is read from standard input, so that it stays out of the process list.',
    options: {
      email: { value: 'address', help: 'email address, used to sign in', required: true },
      name: { value: 'name', help: 'display name', required: true },
      'password-stdin': { help: 'read the password from standard input (required)' },
      admin: { help: 'give the user the administrator role' },
      verified: { help: 'mark the email address as verified' },
    },
    async run(deps, { email, name, admin, verified, ...given }, { stdin }) {
      if (!given['password-stdin'])
        throw new UsageError('--password-stdin is missing: pipe the password to standard input.');
      const password = (await text(stdin)).replace(/\r?\n$/, '');
      const account = { email, name, password, role: admin ? 'admin' : 'user', emailVerified: verified } as const;
      return show(await requireUser(deps, await createUser(deps, account, 'cli')));
    },
  }),
  'users list': command({
    summary: 'List all users, oldest first.',
    run: async (deps) => found(await allUsers(deps)),
  }),
  'users find': command({
    summary: `Find users by the beginning of the email address, part of the name, or the ID. Shows up to ${maxFound}, newest first.`,
    operands: { query: { value: 'query' } },
    run: async (deps, { query }) => found((await findUsers(deps, { query, limit: maxFound })).users),
  }),
  'users show': command({
    summary: 'Show a user; with --all, also their sign-in methods and access.',
    operands: { user_id: { value: 'user_id or email' } },
    options: { all: { help: 'include factors, wrong passwords, and the number of sessions, grants and clients' } },
    async run(deps, { user_id, all }) {
      const user = await requireUserByIdOrEmail(deps, user_id);
      if (!all) return show(user);
      const overview = overviewRecord(await userOverview(deps, user.user_id));
      return { json: overview, text: describeOverview(overview) };
    },
  }),
};
