import Type from 'typebox';
import type { OperationDescription } from '../../platform/http/operation.ts';
import { recentlySignedIn } from '../sessions/session.ts';

export const PasswordBody = Type.Object(
  {
    password: Type.String({
      description: 'At least 15 characters, or 8 with TOTP; at most 1024 bytes; no common password.',
    }),
  },
  { additionalProperties: false },
);

const shared = { tag: 'Account', access: [recentlySignedIn] } as const;
const consequence =
  'Ends your other sessions, revokes all grants and invalidates open reset links. This session continues with a new cookie.';

export const changePassword: OperationDescription = {
  ...shared,
  summary: 'Set or change your password',
  description: consequence,
  body: { schema: PasswordBody, example: { password: 'four unrelated ordinary words' } },
  answers: { 204: { description: 'The password was changed.' } },
  refusals: ['temporarily_unavailable', 'rate_limited'],
};

export const removePassword: OperationDescription = {
  ...shared,
  summary: 'Remove your password',
  description: `Only possible with another sign-in method. ${consequence}`,
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['invalid_state'],
};
