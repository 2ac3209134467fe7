import Type from 'typebox';
import { recentlySignedIn } from '../../authentication/sessions/session.ts';
import type { OperationDescription } from '../../platform/http/operation-description.ts';

export const DeletionBody = Type.Object(
  { email: Type.String({ description: 'The address of the account, to show that this is meant.' }) },
  { additionalProperties: false },
);

export const deleteCurrentUser: OperationDescription = {
  tag: 'Account',
  access: [recentlySignedIn],
  summary: 'Delete your account',
  description: 'At once and for good, with its sessions, grants and factors. Clients that you registered stay.',
  body: { schema: DeletionBody, example: { email: 'ada@example.com' } },
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['invalid_state'],
};
