import Type from 'typebox';
import { signedIn } from '../../authentication/sessions/session.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { ProfileBody } from './profile.ts';

const CurrentUser = Type.Object({
  user_id: Type.String(),
  sub: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  name: nullable(Type.String()),
  picture: nullable(Type.String()),
  role: Type.Enum(['user', 'admin']),
  locale: nullable(Type.String({ description: 'A language tag; null: what the browser asks for.' })),
  created_at: Time,
  updated_at: Time,
  two_factor_enabled: Type.Boolean({ description: 'An authenticator app is asked for at every sign-in.' }),
  identities: Type.Array(Type.Object({ provider: Type.String(), email: nullable(Type.String()), linked_at: Time })),
  session: Type.Object({
    id: Type.String(),
    created_at: Time,
    expires_at: Time,
    auth_time: Time,
    amr: Type.Array(Type.String()),
    acr: Type.String(),
  }),
});

const shared = { tag: 'Account', access: [signedIn] } as const;

export const readCurrentUser: OperationDescription = {
  ...shared,
  summary: 'Who is signed in',
  answers: { 200: { description: 'The person, and this session.', schema: CurrentUser } },
};

export const editCurrentUser: OperationDescription = {
  ...shared,
  summary: 'Change your name, language or picture',
  body: {
    schema: ProfileBody,
    example: { name: 'Ada Lovelace', locale: 'de', picture: 'https://pictures.example.com/ada.jpg' },
  },
  answers: { 200: { description: 'The person as they are now.', schema: CurrentUser } },
  refusals: ['rate_limited'],
};
