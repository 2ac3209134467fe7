import Type from 'typebox';
import { permissions, productPattern } from '../../entitlements/service-credentials/service-credential.ts';
import { nullable, type Operation, Time } from '../../platform/openapi/operation.ts';
import { administrationAccess } from '../operation-parts.ts';

const record = {
  client_id: Type.String(),
  name: Type.String(),
  permissions: Type.Array(Type.Enum([...permissions])),
  products: Type.Array(Type.String()),
  created_at: Time,
  retired_at: nullable(Time),
};
const Credential = Type.Object(record);
const secret = { client_secret: Type.String({ description: 'Shown this once.' }) };

const terms = {
  permissions: Type.Array(Type.Enum([...permissions]), { minItems: 1 }),
  products: Type.Optional(
    Type.Array(
      Type.String({ minLength: 1, maxLength: 100, pattern: productPattern, description: 'Any printable characters.' }),
      { maxItems: 100, description: 'Which products it may write entitlements of, each as it is written there.' },
    ),
  ),
};
/** The name is judged by the use-case, in words of its own. */
export const CreateBody = Type.Object({ name: Type.String(), ...terms }, { additionalProperties: false });
export const RestrictBody = Type.Object(terms, { additionalProperties: false });

/** An overlap of 0 is for a secret that has leaked. */
export const RotateBody = Type.Object(
  { overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400, description: 'Left out: a day.' })) },
  { additionalProperties: false },
);

const one = {
  ...administrationAccess,
  parameters: { client_id: { description: 'Of a service credential, `svc_...`.' } },
};
const changed = { 200: { description: 'The credential as it is now.', schema: Credential } };

export const list: Operation = {
  ...administrationAccess,
  summary: 'Credentials of back ends',
  answers: {
    200: {
      description: 'Never with a secret.',
      schema: Type.Object({ service_credentials: Type.Array(Credential) }),
    },
  },
};

export const create: Operation = {
  ...administrationAccess,
  summary: 'Make credentials for a back end',
  body: {
    schema: CreateBody,
    example: { name: 'Billing', permissions: ['entitlements:write'], products: ['editor'] },
  },
  answers: { 200: { description: 'With its secret.', schema: Type.Object({ ...record, ...secret }) } },
};

export const restrict: Operation = {
  ...one,
  summary: 'Set what a service credential may do from now on',
  body: { schema: RestrictBody, example: { permissions: ['entitlements:write'], products: ['editor'] } },
  answers: changed,
  refusals: ['not_found', 'invalid_state'],
};

export const rotate: Operation = {
  ...one,
  summary: 'Give a service credential a new secret',
  description: 'Two secrets work at a time: those before the last one end at once.',
  body: { schema: RotateBody, example: { overlap_seconds: 0 } },
  answers: {
    200: {
      description: 'The secret before works until `previous_expires_at`.',
      schema: Type.Object({ client_id: Type.String(), ...secret, previous_expires_at: Time }),
    },
  },
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

export const retire: Operation = {
  ...one,
  summary: 'End a service credential for good',
  answers: changed,
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};
