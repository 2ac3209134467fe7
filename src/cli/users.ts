import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { readHandle } from '../accounts/handles.ts';
import { type User, userFilters } from '../accounts/statements.ts';
import { requireUser, requireUserByIdOrEmail } from '../accounts/users.ts';
import { inviteAdministrator } from '../admin/invite-administrator.ts';
import { editUser } from '../admin/users/edit-user.ts';
import { exportUsers } from '../admin/users/export-list.ts';
import { describeUsers } from '../admin/users/list-text.ts';
import { describeOverview, describeUser, userOperand, userOperations } from '../admin/users/operations.ts';
import { overviewRecord, userOverview, userRecord } from '../admin/users/read-user.ts';
import { valueInText, valuesByName } from '../attributes/values.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import type { FileAnswer } from '../platform/http/operation.ts';
import { type Report, time } from '../platform/report.ts';
import { exportUser } from '../self-service/export/export-user.ts';
import { command } from './command.ts';
import { nothingChanged } from './operation-command.ts';
import { readPassword } from './password-prompt.ts';

const caller = { actor: 'cli' } as const;

const maxFound = 500;

const show = (user: User): Report => ({ json: userRecord(user), text: describeUser(userRecord(user)) });

/** Those that are no operation of the API. */
export const userCommands = {
  'users create': command({
    summary: 'Create a user. Asks for the password on a terminal.',
    options: {
      email: { value: 'email', help: 'email address, used to sign in', required: true },
      name: { value: 'name', help: 'display name', required: true },
      username: { value: 'username', help: 'unique username, which apps receive as preferred_username' },
      'password-stdin': { help: 'read the password from standard input, for scripts' },
      admin: { help: 'give the user the administrator role' },
      verified: { help: 'mark the email address as verified' },
    },
    async run(deps, { email, name, username, admin, verified, ...given }, terminal) {
      const preferredUsername = username === undefined ? undefined : readHandle(deps.config, username);
      const password = await readPassword(terminal, given['password-stdin']);
      const role = admin ? 'admin' : 'user';
      const account = { email, name, preferredUsername, password, role, emailVerified: verified } as const;
      return show(await requireUser(deps, await createUser(deps, account, 'cli')));
    },
  }),
  'users find': command({
    summary: `Find users by email address, name, username or ID. Matches beginnings of words, and prints up to ${maxFound} users.`,
    operands: { query: { value: 'query' } },
    onlyShows: true,
    async run(deps, { query }) {
      const found = await userOperations.list.run(deps, { caller, body: undefined, query: { query, limit: maxFound } });
      const more = found.next === null ? '' : '\n\nThere are more results: use users list --query.';
      return { json: found, text: describeUsers({ ...found, next: null }) + more };
    },
  }),
  'users set-attribute': command({
    summary: 'Set the value of an attribute of a user. Several texts are lines; an empty value removes it.',
    operands: { user_id: userOperand.user_id, name: { value: 'name' }, value: { value: 'value' } },
    options: { reason: { value: 'text', help: 'reason, recorded in the audit log' } },
    async run(deps, { user_id, name, value, reason }) {
      const user = await requireUserByIdOrEmail(deps, user_id);
      const attribute = (await deps.attributes.read()).named(name);
      const typed = value === '' ? null : attribute ? valueInText(attribute, value) : value;
      const edit = { attributes: { [name]: typed }, ...(reason !== undefined && { reason }) };
      const { after, isChanged } = await editUser(deps, caller, user.user_id, edit);
      const attributes = valuesByName(await deps.attributes.read(), after.attributes);
      const json = { ...userRecord(after), attributes, changed: isChanged };
      return { json, text: isChanged ? `${name} of ${after.email} was set.` : nothingChanged };
    },
  }),
  'users show': command({
    summary: 'Show a user. With --all, also shows sign-in methods and access.',
    operands: { user_id: userOperand.user_id },
    options: {
      all: {
        help: 'also show sign-in methods, failed password attempts, and counts of sessions, grants, clients and entitlements',
      },
    },
    async run(deps, { user_id, all }) {
      const user = await requireUserByIdOrEmail(deps, user_id);
      if (!all) return show(user);
      const overview = overviewRecord(await userOverview(deps, user.user_id));
      return { json: overview, text: describeOverview(overview) };
    },
  }),
};

/** To standard output, no more than a page of it in memory. */
async function print({ content }: FileAnswer, stdout: Writable): Promise<undefined> {
  for await (const text of content) if (!stdout.write(text)) await once(stdout, 'drain');
}

const exportReason = { value: 'text', help: 'reason, recorded in the audit log' } as const;

export const exportCommands = {
  'users export': command({
    summary: 'Export the data of a user as JSON. Prints to standard output; redirect it to a file.',
    operands: { user_id: userOperand.user_id },
    options: { reason: exportReason },
    async run(deps, { user_id, reason }, { stdout }) {
      const user = await requireUserByIdOrEmail(deps, user_id);
      return print(await exportUser(deps, caller, user.user_id, reason), stdout);
    },
  }),
  'users export-csv': command({
    summary: 'Export the list of users as CSV. Prints to standard output; redirect it to a file.',
    options: {
      filter: { value: 'filter', oneOf: userFilters, help: 'only these users, as in users list' },
      reason: exportReason,
    },
    run: async (deps, { filter, reason }, { stdout }) =>
      print(await exportUsers(deps, caller, { filter, reason }), stdout),
  }),
};

export const invitationCommand = {
  'admin invite': command({
    summary: 'Invite an administrator. Prints a link that creates the account; it works once and expires after a day.',
    async run(deps) {
      const invitation = await inviteAdministrator(deps, 'cli');
      return { json: invitation, text: `${invitation.url}\nIt works once, until ${time(invitation.expires_at)}.` };
    },
  }),
};
