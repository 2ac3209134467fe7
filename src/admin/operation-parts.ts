import Type from 'typebox';
import type { Caller } from '../audit/audit.ts';
import { administrator } from '../authentication/sessions/session.ts';
import type { Deps } from '../oauth/deps.ts';
import type { Access } from '../platform/http/access.ts';
import type { OperationDescription } from '../platform/http/operation-description.ts';

/** What all operations for administrators have in common. */
export const administration: { tag: 'Administration'; access: Access<Deps, { caller: Caller }> } = {
  tag: 'Administration',
  access: administrator,
};

/** What all addresses for administrators have in common in the API description. */
export const administrationAccess = {
  tag: 'Administration',
  access: [administrator],
} as const satisfies Partial<OperationDescription>;

export const limit = Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'How many at most.' });

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
