import Type from 'typebox';
import { recentlySignedIn, signedIn } from '../../authentication/sessions/session.ts';
import type { OperationDescription } from '../../platform/http/operation-description.ts';

export const EmailBody = Type.Object(
  { email: Type.String({ description: 'The new address.' }) },
  { additionalProperties: false },
);

const Sent = Type.Object({ expires_in: Type.Integer({ description: 'Seconds for which the link works.' }) });

export const changeEmail: OperationDescription = {
  tag: 'Account',
  access: [recentlySignedIn],
  summary: 'Change your e-mail address',
  description: 'Sends a link to the new address. The present one stays until the link is opened in your session.',
  body: { schema: EmailBody, example: { email: 'ada@example.com' } },
  answers: { 202: { description: 'The same whether the address is free or not.', schema: Sent } },
  refusals: ['invalid_state', 'rate_limited'],
};

export const verifyEmail: OperationDescription = {
  tag: 'Account',
  access: [signedIn],
  summary: 'Verify your e-mail address',
  description: 'Sends a link to it, to be opened in your session.',
  answers: { 202: { description: 'The link is on its way.', schema: Sent } },
  refusals: ['invalid_state', 'rate_limited'],
};
