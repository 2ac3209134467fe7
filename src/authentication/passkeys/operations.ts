import Type from 'typebox';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { recentlySignedIn, signedIn } from '../sessions/session.ts';
import { NameBody, RegistrationBody } from './requests.ts';

const PasskeyRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  synced: Type.Boolean({ description: 'Whether the passkey is backed up elsewhere.' }),
  created_at: Time,
  last_used_at: nullable(Time),
});

const shared = { tag: '2FA' } as const;
const one = { ...shared, parameters: { id: { description: '`id` of the passkey.' } } };

export const listOwn: OperationDescription = {
  ...shared,
  access: [signedIn],
  summary: 'Your passkeys',
  answers: { 200: { description: 'Oldest first.', schema: Type.Object({ passkeys: Type.Array(PasskeyRecord) }) } },
};

export const beginRegistration: OperationDescription = {
  ...shared,
  access: [recentlySignedIn],
  summary: 'Begin to register a passkey',
  description: 'Each challenge works once, for five minutes, in this browser and for this user.',
  answers: {
    200: {
      description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn §5.1.9).',
      schema: Type.Object({ challenge: Type.String() }),
    },
  },
  refusals: ['invalid_state', 'rate_limited'],
};

export const register: OperationDescription = {
  ...shared,
  access: [recentlySignedIn],
  summary: 'Register a passkey',
  body: { schema: RegistrationBody },
  answers: { 201: { description: 'The passkey.', schema: PasskeyRecord } },
  refusals: ['invalid_state', 'rate_limited'],
};

export const rename: OperationDescription = {
  ...one,
  access: [recentlySignedIn],
  summary: 'Rename a passkey',
  body: { schema: NameBody, example: { name: 'Key ring' } },
  answers: { 200: { description: 'The passkey.', schema: PasskeyRecord } },
  refusals: ['not_found', 'rate_limited'],
};

export const remove: OperationDescription = {
  ...one,
  access: [recentlySignedIn],
  summary: 'Remove a passkey',
  answers: { 204: { description: 'Removed.' } },
  refusals: ['not_found', 'invalid_state'],
};
