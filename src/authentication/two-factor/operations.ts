import Type from 'typebox';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { recentlySignedIn, signedIn } from '../sessions/session.ts';
import { ConfirmBody } from './requests.ts';

const State = Type.Object({
  enabled: Type.Boolean({ description: 'Whether a second factor is asked for at sign-in.' }),
  methods: Type.Array(Type.Enum(['totp', 'backup_codes', 'passkey']), { description: 'What could be given as one.' }),
  totp: Type.Object({
    status: Type.Enum(['none', 'pending', 'active']),
    confirmed_at: nullable(Time),
    last_used_at: nullable(Time),
  }),
  backup_codes: Type.Object({
    total: Type.Integer({ minimum: 0 }),
    remaining: Type.Integer({ minimum: 0 }),
    generated_at: nullable(Time),
  }),
  passkeys: Type.Object({ count: Type.Integer({ minimum: 0 }) }),
});

const BackupCodes = Type.Object({
  backup_codes: Type.Array(Type.String(), { description: 'Ten. Each works once; they are never shown again.' }),
});

const change = { tag: '2FA', access: [recentlySignedIn] } as const;

export const readTwoFactor: OperationDescription = {
  tag: '2FA',
  summary: 'The state of your second factor',
  access: [signedIn],
  answers: { 200: { description: 'What is set up.', schema: State } },
};

export const enroll: OperationDescription = {
  ...change,
  summary: 'Make a TOTP secret',
  description:
    'A fresh one each time, good for ten minutes. One in force stays in force until the new one is confirmed.',
  answers: {
    200: {
      description: 'For an authenticator app: SHA-1, six digits, 30 seconds.',
      schema: Type.Object({
        otpauth_uri: Type.String({ description: 'Key URI.' }),
        secret_base32: Type.String({ description: '160 bits.' }),
        qr_svg: Type.String({ description: 'The same URI as a QR code.' }),
      }),
    },
  },
};

export const confirm: OperationDescription = {
  ...change,
  summary: 'Turn TOTP on with the first code',
  description:
    'In the session that made the secret. The code is used up by it; five wrong ones end the pending secret. The session goes on with its cookie and counts as confirmed by both factors.',
  body: { schema: ConfirmBody, example: { code: '123456' } },
  answers: { 200: { description: 'It is asked for from now on.', schema: BackupCodes } },
  refusals: ['invalid_code', 'invalid_state', 'rate_limited'],
};

export const disable: OperationDescription = {
  ...change,
  summary: 'Turn TOTP off',
  description: 'Its backup codes go with it.',
  answers: { 204: { description: 'It is asked for no more.' } },
  refusals: ['invalid_state', 'rate_limited'],
};

export const regenerate: OperationDescription = {
  ...change,
  summary: 'Make new backup codes',
  description: 'In place of all earlier ones.',
  answers: { 200: { description: 'Ten new ones.', schema: BackupCodes } },
  refusals: ['invalid_state', 'rate_limited'],
};
