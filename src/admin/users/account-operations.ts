import { inviteUser } from '../../authentication/account-links/invitation.ts';
import { emailPattern } from '../../platform/email-address.ts';
import { inCode, nameInCode, operation, Time } from '../../platform/http/operation.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, ReasonBody, reasonExample, reasonMember, strictBody } from '../operation-parts.ts';
import { deleteUserByAdministrator } from './delete-user.ts';
import { editUser } from './edit-user.ts';
import { administratorWarning, describeUser, UserRecord, userOperand } from './operations.ts';
import { userRecord } from './read-user.ts';
import { resetLinkFor } from './reset-link.ts';

const one = { ...administration, parameters: { user_id: 'user_id of any user.' } };
const email = (description: string) =>
  Type.String({ description, ...inCode({ maxLength: 254, pattern: emailPattern }) });

const link = {
  url: Type.String({ description: 'The link. It is returned only once.' }),
  expires_at: Time,
};

/** What administrators do to accounts on their owners' behalf. */
export const accountOperations = {
  invite: operation({
    ...administration,
    id: 'inviteUser',
    method: 'POST',
    path: '/v1/admin/users/invite',
    summary: 'Invite a person to create an account',
    description:
      'The link works once, for seven days. Where mail is configured, the person also receives a link by email, and the ' +
      'account that it creates has a verified address.',
    body: strictBody({
      email: email('The address of the new account.'),
      locale: Type.Optional(Type.Enum([...locales], { description: 'The language of the email.' })),
      ...reasonMember,
    }),
    example: { email: 'ada@example.com', locale: 'en', reason: 'New colleague.' },
    answer: {
      description: 'The link to hand over.',
      schema: Type.Object({
        ...link,
        mailed: Type.Boolean({ description: 'Whether the person receives a link by email, too.' }),
      }),
    },
    refusals: ['invalid_request'],
    run: (deps, { caller, body: { email, locale = null, reason } }) =>
      inviteUser(deps, caller, { email, locale, reason }),
    command: {
      name: 'users invite',
      summary: 'Print a link with which a person creates an account, and email them another if mail is configured.',
      operands: { email: { value: 'email' } },
      optional: ['reason'],
      text: ({ url, expires_at, mailed }) =>
        `${url}\nIt works once, until ${time(expires_at)}.${mailed ? ' A link was also emailed.' : ''}`,
    },
  }),

  edit: operation({
    ...one,
    id: 'editUser',
    method: 'PATCH',
    path: '/v1/admin/users/:user_id',
    summary: 'Change the name or email address of a user',
    description:
      'The old address is notified, and links that were sent to it are invalidated. Of administrators, and of users who ' +
      'were one in the last 24 hours, only the name can be changed.',
    body: strictBody({
      name: Type.Optional(Type.String({ description: '1 to 100 visible characters.', ...nameInCode })),
      email: Type.Optional(email('The new address. It is not verified unless `email_verified` says so.')),
      email_verified: Type.Optional(
        Type.Literal(true, { description: 'Marks the address as verified, on your word.' }),
      ),
      ...reasonMember,
    }),
    example: { name: 'Ada Lovelace', reason: 'She has married.' },
    answer: { description: 'The user after the change.', schema: UserRecord },
    refusals: ['not_found', 'invalid_state'],
    run: async (deps, { caller, user_id, body }) => userRecord(await editUser(deps, caller, user_id, body)),
    command: {
      name: 'users edit',
      operands: userOperand,
      options: { verified: 'email_verified' },
      optional: ['reason'],
      text: describeUser,
    },
  }),

  resetLink: operation({
    ...one,
    id: 'createResetLink',
    method: 'POST',
    path: '/v1/admin/users/:user_id/reset-link',
    summary: 'Create a link to choose a new password',
    description:
      'For a user whom no email reaches. It works once, for 30 minutes, and replaces an earlier one. A second factor is ' +
      'still required. The user is notified by email. Not for your own account, nor for administrators and users who ' +
      'were one in the last 24 hours.',
    body: ReasonBody,
    example: reasonExample,
    answer: { description: 'The link to hand over.', schema: Type.Object(link) },
    refusals: ['not_found', 'invalid_state', 'rate_limited'],
    run: (deps, { caller, user_id, body }) => resetLinkFor(deps, caller, user_id, body.reason),
    command: {
      name: 'users reset-link',
      summary: 'Print a link with which a user chooses a new password, and notify the user by email.',
      operands: userOperand,
      optional: ['reason'],
      text: ({ url, expires_at }) => `${url}\nIt works once, until ${time(expires_at)}.`,
    },
  }),

  delete: operation({
    ...one,
    id: 'deleteUser',
    method: 'DELETE',
    path: '/v1/admin/users/:user_id',
    summary: 'Delete a user',
    description:
      'Deletes the account immediately and permanently, with its sessions, grants and factors, and notifies the user by ' +
      'email. Clients that the user registered are kept. Not for your own account, nor for the last active administrator.',
    body: strictBody({ email: email('The address of the user, to confirm the deletion.'), ...reasonMember }),
    example: { email: 'ada@example.com', reason: 'At her own request.' },
    answer: { description: 'It is gone.' },
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { caller, user_id, body }) => deleteUserByAdministrator(deps, caller, user_id, body),
    command: {
      name: 'users delete',
      summary: 'Delete a user permanently, with all sessions, grants and factors. --email confirms which one.',
      operands: userOperand,
      optional: ['reason'],
      json: (_, { user_id }) => ({ deleted: user_id }),
      text: async (_, { user_id }, deps) => `${user_id} has been deleted.${await administratorWarning(deps)}`,
    },
  }),
};
