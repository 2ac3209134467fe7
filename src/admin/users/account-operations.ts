import { handlePattern } from '../../accounts/handles.ts';
import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { userFilters } from '../../accounts/statements.ts';
import { AttributeEdits, AttributeValues } from '../../attributes/schema.ts';
import { valuesByName } from '../../attributes/values.ts';
import { answerOf } from '../../platform/edited.ts';
import { emailPattern } from '../../platform/email-address.ts';
import { inCode, nameInCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { exportUser } from '../../self-service/export/export-user.ts';
import { administration, ReasonBody, reasonExample, reasonMember, strictBody } from '../operation-parts.ts';
import { bulkActions, changeSeveral, changesRole, maxSelected } from './change-several.ts';
import { deleteUserByAdministrator } from './delete-user.ts';
import { editUser } from './edit-user.ts';
import { exportUsers } from './export-list.ts';
import { administratorWarning, describeUser, UserRecord, userOperand } from './operations.ts';
import { userRecord } from './read-user.ts';
import { removePicture } from './remove-picture.ts';
import { resetLinkFor } from './reset-link.ts';

const one = (permission: AdministrativePermission) => ({
  ...administration(permission),
  parameters: { user_id: 'user_id of any user.' },
});
export const email = (description: string) =>
  Type.String({ description, ...inCode({ maxLength: 254, pattern: emailPattern }) });

export const username = (description: string) => Type.String({ description, ...inCode({ pattern: handlePattern }) });

export const link = {
  url: Type.String({ description: 'The link. It is returned only once.' }),
  expires_at: Time,
};

/** What administrators do to accounts on their owners' behalf. */
export const accountOperations = {
  edit: operation({
    ...one('users:write'),
    id: 'editUser',
    method: 'PATCH',
    path: '/v1/admin/users/:user_id',
    summary: 'Change the name, username, attributes or email address of a user',
    description:
      'The old address is notified, and links that were sent to it are invalidated. Of administrators, and of users who ' +
      'were one in the last 24 hours, only the names can be changed. An address that another account has, or a username ' +
      'that is taken, is refused with 409 `invalid_state`, of `current_status` `taken`.',
    body: strictBody({
      name: Type.Optional(Type.String({ description: '1 to 100 visible characters.', ...nameInCode })),
      preferred_username: Type.Optional(
        nullable(
          username(
            'The unique username that apps receive as `preferred_username` under the scope `profile`. Whoever had one until recently keeps it for 90 days. null: none.',
          ),
        ),
      ),
      email: Type.Optional(email('The new address. It is not verified unless `email_verified` says so.')),
      email_verified: Type.Optional(
        Type.Literal(true, { description: 'Marks the address as verified, on your word.' }),
      ),
      attributes: Type.Optional(AttributeEdits),
      ...reasonMember,
    }),
    example: { name: 'Ada Lovelace', reason: 'She has married.' },
    answer: {
      description: 'The user after the change.',
      schema: Type.Object({ ...UserRecord.properties, attributes: AttributeValues }),
    },
    refusals: ['not_found', 'invalid_state'],
    alsoNeeds: {
      permission: 'users:recover',
      words:
        'An address is a way into the account: with `email` or `email_verified` it takes `users:recover`, which no service credential has.',
      when: (_, { body }) => body.email !== undefined || body.email_verified !== undefined,
    },
    async run(deps, { caller, user_id, body }) {
      const edited = await editUser(deps, caller, user_id, body);
      const register = await deps.attributes.read();
      return answerOf(edited, (user) => ({ ...userRecord(user), attributes: valuesByName(register, user.attributes) }));
    },
    command: {
      name: 'users edit',
      summary: 'Change the name, username or email address of a user. An empty username removes it.',
      operands: userOperand,
      options: { verified: 'email_verified', username: 'preferred_username' },
      optional: ['reason'],
      // Their types are those of the definitions: `users set-attribute`.
      fixed: { attributes: undefined },
      text: describeUser,
    },
  }),

  resetLink: operation({
    ...one('users:recover'),
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
      summary: 'Create a password reset link for a user. Prints the link, and notifies the user by email.',
      operands: userOperand,
      optional: ['reason'],
      text: ({ url, expires_at }) => `${url}\nIt works once, until ${time(expires_at)}.`,
    },
  }),

  removePicture: operation({
    ...one('users:write'),
    id: 'removeUserPicture',
    method: 'DELETE',
    path: '/v1/admin/users/:user_id/picture',
    summary: 'Remove the picture of a user',
    description:
      'The file of an uploaded picture is deleted, and apps no longer receive the URL. A copy that a browser or an app has ' +
      'may stay there. The user may set another picture.',
    body: ReasonBody,
    example: reasonExample,
    answer: { description: 'It is gone.' },
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { caller, user_id, body }) => removePicture(deps, caller, user_id, body.reason),
    command: {
      name: 'users remove-picture',
      confirm: 'This deletes the picture. It cannot be undone.',
      summary: 'Remove the picture of a user.',
      operands: userOperand,
      optional: ['reason'],
      json: (_, { user_id }) => ({ picture_removed: user_id }),
      text: (_, { user_id }) => `The picture of ${user_id} has been removed.`,
    },
  }),

  export: operation({
    ...one('users:export'),
    id: 'exportUser',
    method: 'POST',
    path: '/v1/admin/users/:user_id/export',
    summary: 'Export what is stored about a user',
    description:
      'For a request of the user (GDPR articles 15 and 20): profile, sign-in methods, active sessions, grants, consents, ' +
      'clients, entitlements and their history, and events. Contains no secrets.',
    body: ReasonBody,
    example: { reason: 'At her own request.' },
    answer: { description: 'A JSON document, as an attachment.', media: ['application/json'] },
    refusals: ['not_found'],
    run: (deps, { caller, user_id, body }) => exportUser(deps, caller, user_id, body.reason),
  }),

  exportList: operation({
    ...administration('users:export'),
    id: 'exportUsers',
    method: 'POST',
    path: '/v1/admin/users/export',
    summary: 'Export the list of users as a file',
    body: strictBody({
      filter: Type.Optional(Type.Enum([...userFilters], { description: 'Only these users, as in the list.' })),
      ...reasonMember,
    }),
    example: { filter: 'stale', reason: 'Yearly review of accounts.' },
    answer: { description: 'In the order of the list, as an attachment.', media: ['text/csv'] },
    refusals: ['invalid_request'],
    run: (deps, { caller, body }) => exportUsers(deps, caller, body),
  }),

  changeSeveral: operation({
    ...administration('users:write'),
    id: 'changeSeveralUsers',
    method: 'POST',
    path: '/v1/admin/users/bulk',
    summary: 'Sign out, disable or change the role of several users',
    description:
      'Each user is changed as if alone: what is refused for one does not stop the others. Your own account is refused.',
    body: strictBody({
      action: Type.Enum([...bulkActions], { description: 'What to do.' }),
      user_ids: Type.Array(Type.String({ maxLength: 255 }), {
        minItems: 1,
        maxItems: maxSelected,
        description: `IDs of up to ${maxSelected} users.`,
      }),
      ...reasonMember,
    }),
    example: { action: 'sign_out', user_ids: ['usr_eX4mpleUser_of_th3_API'], reason: 'A laptop was stolen.' },
    answer: {
      description: 'One result for each user, in the order of the request.',
      schema: Type.Object({
        results: Type.Array(
          Type.Object({
            user_id: Type.String(),
            done: Type.Boolean(),
            error: nullable(Type.String({ description: 'Why not, as in an error response.' })),
            error_description: nullable(Type.String()),
          }),
        ),
      }),
    },
    refusals: ['invalid_request'],
    alsoNeeds: {
      permission: 'administrators:write',
      words: 'A change of the role takes `administrators:write`, which no service credential has.',
      when: (_, { body }) => changesRole(body.action),
    },
    async run(deps, { caller, body }) {
      const results = await changeSeveral(deps, caller, body);
      return {
        results: results.map(({ user_id, refusal }) => ({
          user_id,
          done: refusal === undefined,
          error: refusal?.code ?? null,
          error_description: refusal?.message ?? null,
        })),
      };
    },
    command: {
      name: 'users bulk',
      confirm: 'This changes several accounts. Sessions and grants that end cannot be restored.',
      summary: 'Sign out, disable or change the role of several users. Exits with 1 if one of them was refused.',
      operands: { action: { oneOf: bulkActions } },
      options: { user: 'user_ids' },
      failed: ({ results }) => results.some(({ done }) => !done),
      text: ({ results }) =>
        list([
          ['USER', 'DONE', 'WHY NOT'],
          ...results.map(({ user_id, done, error_description }) => [user_id, done ? 'yes' : 'no', error_description]),
        ]),
    },
  }),

  delete: operation({
    ...one('users:delete'),
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
      confirm: 'This deletes the account and everything in it. It cannot be undone.',
      summary:
        'Delete a user permanently. Deletes all sessions, grants and factors, too; --email must repeat the address.',
      operands: userOperand,
      optional: ['reason'],
      json: (_, { user_id }) => ({ deleted: user_id }),
      text: async (_, { user_id }, deps) => `${user_id} has been deleted.${await administratorWarning(deps)}`,
    },
  }),
};
