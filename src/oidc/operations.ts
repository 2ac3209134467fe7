import Type from 'typebox';
import { Entitlement } from '../entitlements/entitlement.ts';
import type { Operation } from '../openapi/operation.ts';

export const readDiscovery: Operation = {
  tag: 'OIDC',
  summary: 'What this issuer can do, and where',
  description: 'OpenID Connect Discovery 1.0 and RFC 8414. May be kept for five minutes.',
  answers: { 200: { description: 'The discovery document.', schema: Type.Object({ issuer: Type.String() }) } },
};

export const readUserinfo: Operation = {
  tag: 'OIDC',
  summary: 'What the scope of an access token tells about its person, as it is now',
  authentication: ['bearer'],
  answers: {
    200: {
      description: '`sub` always; the rest by scope.',
      schema: Type.Object({
        sub: Type.String(),
        email: Type.Optional(Type.String({ description: 'Scope `email`.' })),
        email_verified: Type.Optional(Type.Boolean({ description: 'Scope `email`.' })),
        name: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
        picture: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
        role: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
        entitlements: Type.Optional(Type.Array(Entitlement, { description: 'Scope `entitlements:read`.' })),
      }),
    },
  },
  refusals: ['invalid_request', 'invalid_token', 'insufficient_scope'],
};
