import {
  audiencePattern,
  claimPattern,
  hashPattern,
  longestLabel,
  scopePattern,
} from '../../authentication/credentials/providers.ts';
import { longestClientId, longestSecret } from '../../authentication/federation/provider-rules.ts';
import { inCode, nullable, Time } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';

// What the operations of providers take and answer.

export const record = {
  id: Type.String({ description: 'In `/auth/{id}/login`. It never changes.' }),
  label: Type.String(),
  issuer: Type.String({ description: 'It never changes: identities are kept under it.' }),
  client_id: Type.String(),
  groups_claim: nullable(Type.String({ description: 'The claim whose groups are followed; null: none.' })),
  scope: nullable(Type.String({ description: 'What is asked for beside `openid email profile`.' })),
  logo_url: nullable(
    Type.String({ description: 'Of the picture on its button that was uploaded for it; null: none of its own.' }),
  ),
  source: Type.Enum(['settings', 'store'], { description: '`settings`: it is changed where the server is started.' }),
  redirect_uri: Type.String({ description: 'To be registered at the provider.' }),
  backchannel_logout_uri: Type.String({
    description: 'To be registered at the provider, so that a sign-out there ends sessions here.',
  }),
  signals_uri: Type.String({ description: 'Where it pushes security events, once there is a secret for them.' }),
  has_signals_secret: Type.Boolean({ description: 'Whether its security events are taken.' }),
  signals_audience: nullable(Type.String({ description: '`aud` of its security events; null: the `client_id`.' })),
  created_at: nullable(Time),
  disabled_at: nullable(Time),
  is_hidden: Type.Boolean({ description: 'The settings have its ID or its issuer, and it is not used.' }),
};
const signalsAudience = Type.Optional(
  nullable(
    Type.String({
      description: '`aud` of its security events, as it is set for the stream there; null: the `client_id`.',
      ...inCode({ pattern: `${audiencePattern}|^$` }),
    }),
  ),
);

/** What has come of a new secret. */
export const SignalsSecret = Type.Object({
  signals_uri: Type.String({ description: 'Where the provider pushes security events.' }),
  signals_audience: nullable(Type.String({ description: 'Their `aud`; null: the `client_id`.' })),
  signals_secret: Type.String({ description: 'For `Authorization: Bearer`. It is not shown again.' }),
});
export const SignalsBody = { audience: signalsAudience };

export const Provider = Type.Object(record);

const use = {
  linked: Type.Integer({ minimum: 0, description: 'Accounts that are linked with it.' }),
  alone: Type.Integer({ minimum: 0, description: 'Those of them that cannot sign in in another way.' }),
  is_complete: Type.Boolean({ description: 'Whether all were counted: only the first 10000 are.' }),
};
export const Use = Type.Object(use);

export const Receipt = Type.Object({
  kind: Type.Enum(['logout', 'signal'], { description: 'A logout token, or a security event.' }),
  outcome: Type.String({ description: '`accepted`, or why it was refused, such as `audience` or `signature`.' }),
  last_at: Time,
  times: Type.Integer({ minimum: 1, description: 'How often.' }),
});

export const terms = {
  label: Type.String({
    description: 'Name on the button, such as `Acme`.',
    ...inCode({ minLength: 1, maxLength: longestLabel, pattern: textPatterns.name }),
  }),
  client_id: Type.String({
    description: 'client_id of this service at the provider.',
    ...inCode({ minLength: 1, maxLength: longestClientId, pattern: '^[ -~]+$' }),
  }),
  client_secret: Type.String({
    description: 'Its client secret. It is kept encrypted, and never returned.',
    ...inCode({ minLength: 1, maxLength: longestSecret, pattern: '^[ -~]+$' }),
  }),
  groups_claim: Type.Optional(
    nullable(
      Type.String({
        description: 'The claim that names groups of the user, of which those that are here are followed.',
        ...inCode({ pattern: `${claimPattern}|^$` }),
      }),
    ),
  ),
  scope: Type.Optional(
    nullable(
      Type.String({
        description: 'Scopes to ask for beside `openid email profile`, with spaces between them.',
        ...inCode({ pattern: `${scopePattern}|^$` }),
      }),
    ),
  ),
  signals_audience: signalsAudience,
  signals_secret_hash: Type.Optional(
    nullable(
      Type.String({
        description:
          'SHA-256, in base64url, of the bearer token with which it pushes security events: 32 random characters at least. Null: none are taken.',
        ...inCode({ pattern: `${hashPattern}|^$` }),
      }),
    ),
  ),
};

export const ProviderCheckRecord = Type.Object({
  provider: Type.String(),
  label: Type.String(),
  issuer: Type.String(),
  redirect_uri: Type.String({ description: 'To be registered at the provider.' }),
  checked_at: Time,
  found: nullable(Type.Object({ authorization_endpoint: Type.String(), keys: Type.Integer({ minimum: 1 }) })),
  problem: nullable(Type.String({ description: 'A code, such as `enotfound` or `discovery_issuer`.' })),
});
