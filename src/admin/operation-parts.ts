import Type from 'typebox';
import type { Operation } from '../platform/openapi/operation.ts';

/** What all addresses for administrators have in common in the API description. */
export const administration = {
  tag: 'Administration',
  authentication: ['administrator'],
} as const satisfies Partial<Operation>;

export const Limit = {
  description: 'How many at most.',
  schema: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
};

/** Why, for the log and for whom it concerns. */
export const ReasonBody = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 500, description: 'Kept in the audit log.' }) },
  { additionalProperties: false },
);
export const reasonExample = { reason: 'Reported by its users.' };
