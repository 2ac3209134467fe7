import Type from 'typebox';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { recentlySignedIn, signedIn } from '../sessions/session.ts';
import { ConfirmBody } from './requests.ts';

const State = Type.Object({
  enabled: Type.Boolean({ description: 'Whether a second factor is required at sign-in.' }),
  methods: Type.Array(Type.Enum(['totp', 'backup_codes', 'passkey']), {
    description: 'The second factors that the user can use.',
  }),
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
  backup_codes: Type.Array(Type.String(), { description: 'Ten codes. Each works once; they are never shown again.' }),
});

const change = { tag: '2FA', access: [recentlySignedIn] } as const;

export const readTwoFactor: OperationDescription = {
  tag: '2FA',
  summary: 'Get the state of your second factor',
  access: [signedIn],
  answers: { 200: { description: 'The second factors that are set up.', schema: State } },
};

export const enroll: OperationDescription = {
  ...change,
  summary: 'Create a TOTP secret',
  description:
    'A new secret each time, valid for ten minutes. An active one stays active until the new one is confirmed.',
  answers: {
    200: {
      description: 'For an authenticator app: SHA-1, six digits, 30 seconds.',
      schema: Type.Object({
        otpauth_uri: Type.String({ description: 'Key URI (otpauth).' }),
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
    'In the session that created the secret. The code is consumed; five wrong codes discard the pending secret. The session continues with its cookie and counts as authenticated with both factors.',
  body: { schema: ConfirmBody, example: { code: '123456' } },
  answers: { 200: { description: 'TOTP is required from now on.', schema: BackupCodes } },
  refusals: ['invalid_code', 'invalid_state', 'rate_limited'],
};

export const disable: OperationDescription = {
  ...change,
  summary: 'Turn TOTP off',
  description: 'Deletes the backup codes as well.',
  answers: { 204: { description: 'TOTP is no longer required.' } },
  refusals: ['invalid_state', 'rate_limited'],
};

export const regenerate: OperationDescription = {
  ...change,
  summary: 'Create new backup codes',
  description: 'Replaces all earlier codes.',
  answers: { 200: { description: 'Ten new codes.', schema: BackupCodes } },
  refusals: ['invalid_state', 'rate_limited'],
};
