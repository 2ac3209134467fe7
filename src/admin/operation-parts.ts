import Type from 'typebox';
import type { Caller } from '../audit/audit.ts';
import { administrator } from '../authentication/sessions/session.ts';
import type { Deps } from '../oauth/deps.ts';
import type { Access } from '../platform/http/access.ts';

/** What all operations for administrators have in common. */
export const administration: { tag: 'Administration'; access: Access<Deps, { caller: Caller }> } = {
  tag: 'Administration',
  access: administrator,
};

export const limit = Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Maximum number of entries.' });

/** Why, for the log and for whom it concerns. */
export const ReasonBody = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 500, description: 'Recorded in the audit log.' }) },
  { additionalProperties: false },
);
export const reasonExample = { reason: 'Reported by its users.' };
