import Type from 'typebox';
import { basicCredentials, noCredentials } from '../../platform/http/access.ts';
import { type OperationDescription, Time } from '../../platform/http/operation-description.ts';

const credentials = {
  client_id: Type.Optional(Type.String({ description: 'Also alone in HTTP Basic.' })),
  client_secret: Type.Optional(Type.String({ description: 'Of a confidential client; here or in HTTP Basic.' })),
};

export const token: OperationDescription = {
  tag: 'OIDC',
  summary: 'Redeem an authorization code, or rotate a refresh token',
  description:
    'A confidential client sends its secret by HTTP Basic or in the body; a public one sends `client_id` alone.',
  access: [basicCredentials, noCredentials],
  body: {
    form: true,
    schema: Type.Object({
      grant_type: Type.Enum(['authorization_code', 'refresh_token']),
      ...credentials,
      code: Type.Optional(Type.String({ description: 'With authorization_code.' })),
      redirect_uri: Type.Optional(Type.String({ description: 'With authorization_code, as at the start.' })),
      code_verifier: Type.Optional(Type.String({ description: 'With authorization_code.' })),
      refresh_token: Type.Optional(Type.String({ description: 'With refresh_token.' })),
      scope: Type.Optional(Type.String({ description: 'With refresh_token: less than was granted, for this token.' })),
    }),
  },
  answers: {
    200: {
      description: 'Tokens (specification 2.3).',
      schema: Type.Object({
        access_token: Type.String(),
        token_type: Type.Literal('Bearer'),
        expires_in: Type.Literal(3600),
        scope: Type.String(),
        refresh_token: Type.Optional(Type.String({ description: 'With scope `offline_access`.' })),
        id_token: Type.Optional(Type.String({ description: 'With scope `openid`.' })),
      }),
    },
  },
  refusals: ['invalid_grant', 'invalid_scope', 'unsupported_grant_type', 'invalid_client', 'rate_limited'],
};

const tokenForm = {
  token: Type.String({ description: 'An access token or a refresh token.' }),
  token_type_hint: Type.Optional(Type.String({ description: 'Not needed.' })),
};

/** RFC 7662 §2.2, and the claims of our access tokens. */
const ActiveToken = Type.Object({
  scope: Type.String(),
  client_id: Type.String(),
  token_type: Type.Enum(['Bearer', 'refresh_token']),
  exp: Time,
  iat: Time,
  sub: Type.String({ description: 'The user_id.' }),
  aud: Type.String(),
  iss: Type.String(),
  jti: Type.String(),
  sid: Type.String({ description: 'The session that it came from.' }),
  auth_time: Time,
  acr: Type.String(),
  amr: Type.Array(Type.String()),
});

export const introspect: OperationDescription = {
  tag: 'OIDC',
  summary: 'Ask what a token is worth right now (RFC 7662)',
  description:
    'For confidential clients and services with `tokens:introspect`. Their credentials come by HTTP Basic alone.',
  access: [basicCredentials],
  body: { form: true, schema: Type.Object(tokenForm) },
  answers: {
    200: {
      description: 'Everything that is not active is exactly `{"active":false}`.',
      schema: Type.Object({ active: Type.Boolean(), ...Type.Partial(ActiveToken).properties }),
    },
  },
  refusals: ['invalid_client', 'access_denied', 'rate_limited'],
};

export const revoke: OperationDescription = {
  tag: 'OIDC',
  summary: 'Revoke a token (RFC 7009)',
  description: 'A refresh token ends its whole grant. Possession is enough for a public client.',
  access: [basicCredentials, noCredentials],
  body: { form: true, schema: Type.Object({ ...tokenForm, ...credentials }) },
  answers: { 200: { description: 'It is not worth anything, or never was.' } },
  refusals: ['invalid_client', 'rate_limited'],
};
