import { inviteUser, pendingInvitations, revokeInvitation } from '../../authentication/account-links/invitation.ts';
import { nameInCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { paging } from '../../platform/http/paging.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, optionalReason, strictBody } from '../operation-parts.ts';
import { email, link, username } from './account-operations.ts';

/** Who may come: what administrators do before there is an account. */
export const invitationOperations = {
  invite: operation({
    ...administration('users:write'),
    id: 'inviteUser',
    method: 'POST',
    path: '/v1/admin/users/invite',
    summary: 'Invite a person to create an account',
    description:
      'The link works once, for seven days. Where mail is configured, the person also receives a link by email, and the ' +
      'account that it creates has a verified address. An address that has an account, or a username ' +
      'that is taken, is refused with 409 `invalid_state`, of `current_status` `taken`.',
    body: strictBody({
      email: email('The address of the new account.'),
      name: Type.Optional(
        Type.String({
          description: 'The name of the new account, which its user may change before they create it.',
          ...nameInCode,
        }),
      ),
      role: Type.Optional(
        Type.Enum(['user', 'admin'], {
          description:
            'The role of the new account; default: `user`. Every administrator is notified of a new one. It becomes `user` if ' +
            'who has invited loses the role, is disabled or signed out everywhere, or gets another password before it is accepted.',
        }),
      ),
      locale: Type.Optional(Type.Enum([...locales], { description: 'The language of the email.' })),
      preferred_username: Type.Optional(
        username('The username of the new account, which is reserved until the invitation expires.'),
      ),
      replace: Type.Optional(
        Type.Boolean({ description: 'Revokes earlier invitations of this address, spelled the same.' }),
      ),
      ...optionalReason,
    }),
    example: { email: 'ada@example.com', name: 'Ada Lovelace', locale: 'en', reason: 'New colleague.' },
    answer: {
      description: 'The link to hand over.',
      schema: Type.Object({
        ...link,
        mailed: Type.Boolean({ description: 'Whether the person receives a link by email, too.' }),
      }),
    },
    refusals: ['invalid_request', 'invalid_state'],
    alsoNeeds: {
      permission: 'administrators:write',
      words: 'The role of an administrator takes `administrators:write`, which no service credential has.',
      when: (_, { body }) => body.role === 'admin',
    },
    run: (deps, { caller, body: { locale = null, ...wanted } }) => inviteUser(deps, caller, { ...wanted, locale }),
    command: {
      name: 'users invite',
      summary: 'Invite a person to create an account. Prints a link, and emails another one if mail is configured.',
      operands: { email: { value: 'email' } },
      options: { username: 'preferred_username' },
      text: ({ url, expires_at, mailed }) =>
        `${url}\nIt works once, until ${time(expires_at)}.${mailed ? ' A link was also emailed.' : ''}`,
    },
  }),

  listInvitations: operation({
    ...administration('users:read'),
    id: 'listInvitations',
    method: 'GET',
    path: '/v1/admin/invitations',
    summary: 'List invitations that can still be used',
    query: paging,
    answer: {
      description: 'Newest first, without the links. A page may have fewer than `limit` although `next` is not null.',
      schema: Type.Object({
        invitations: Type.Array(
          Type.Object({
            email: Type.String(),
            preferred_username: nullable(Type.String()),
            name: nullable(Type.String()),
            role: Type.Enum(['user', 'admin']),
            invited_at: Time,
            expires_at: Time,
          }),
        ),
        next: nullable(Type.String()),
      }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      const { invitations, next = null } = await pendingInvitations(deps, query);
      return { invitations, next };
    },
    command: {
      name: 'invitations list',
      summary: 'List open invitations.',
      text: ({ invitations, next }) =>
        [
          list([
            ['INVITED', 'EXPIRES', 'EMAIL', 'ROLE', 'NAME', 'USERNAME'],
            ...invitations.map((each) => [
              time(each.invited_at),
              time(each.expires_at),
              each.email,
              each.role,
              each.name,
              each.preferred_username,
            ]),
          ]),
          ...(next === null ? [] : [`More results: --after ${next}`]),
        ].join('\n\n'),
    },
  }),

  revokeInvitation: operation({
    ...administration('users:write'),
    id: 'revokeInvitation',
    method: 'POST',
    path: '/v1/admin/invitations/revoke',
    summary: 'Revoke the invitations of an address',
    body: strictBody({ email: email('The address, spelled as in the list.'), ...optionalReason }),
    example: { email: 'ada@example.com', reason: 'Invited by mistake.' },
    answer: { description: 'Its links no longer work.' },
    refusals: ['not_found'],
    run: (deps, { caller, body }) => revokeInvitation(deps, caller, body),
    command: {
      name: 'invitations revoke',
      confirm: 'Links in these invitations stop working. They cannot be restored.',
      summary: 'Revoke the open invitations of an email address.',
      operands: { email: { value: 'email' } },
      json: (_, { body }) => ({ revoked: body.email }),
      text: (_, { body }) => `The invitations of ${body.email} have been revoked.`,
    },
  }),
};
