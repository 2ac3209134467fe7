import Type from 'typebox';
import type { OperationDescription } from '../../platform/http/operation-description.ts';
import { recentlySignedIn } from '../sessions/session.ts';

export const PasswordBody = Type.Object(
  {
    password: Type.String({
      description: 'At least 15 characters, or 8 beside TOTP; at most 1024 bytes; not a common one.',
    }),
  },
  { additionalProperties: false },
);

const shared = { tag: 'Account', access: [recentlySignedIn] } as const;
const consequence =
  'Ends your other sessions, every grant and open reset links; this session goes on under a new cookie.';

export const changePassword: OperationDescription = {
  ...shared,
  summary: 'Set or change your password',
  description: consequence,
  body: { schema: PasswordBody, example: { password: 'four unrelated ordinary words' } },
  answers: { 204: { description: 'It is in force.' } },
  refusals: ['temporarily_unavailable', 'rate_limited'],
};

export const removePassword: OperationDescription = {
  ...shared,
  summary: 'Remove your password',
  description: `Only while there is another way to sign in. ${consequence}`,
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['invalid_state'],
};
