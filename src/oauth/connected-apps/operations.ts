import Type from 'typebox';
import { signedIn } from '../../authentication/sessions/session.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';

const ConnectedApp = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  homepage_url: nullable(Type.String()),
  scope: Type.Array(Type.String({ description: 'What it may see.' })),
  since: Time,
  last_used_at: nullable(Type.Integer({ description: 'When it was last given tokens. Unix seconds.' })),
});

const shared = { tag: 'Account', access: [signedIn] } as const;

export const listGrants: OperationDescription = {
  ...shared,
  summary: 'The clients that you have let in',
  description: 'One entry a client: those with live grants, and those whose consent is remembered.',
  answers: { 200: { description: 'Last used first.', schema: Type.Object({ grants: Type.Array(ConnectedApp) }) } },
};

export const endGrants: OperationDescription = {
  ...shared,
  summary: 'Disconnect a client',
  description: 'All its grants end at once, and it has to ask for consent again.',
  parameters: { client_id: { description: 'As in the list.' } },
  answers: { 204: { description: 'It is disconnected.' } },
  refusals: ['not_found'],
};
