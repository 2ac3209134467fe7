import Type, { type TObjectOptions, type TProperties } from 'typebox';
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

/** Of a list, a page at a time. */
export const paging = { limit, after: Type.Optional(Type.String({ description: '`next` of the previous page.' })) };

/** A body with no other members. */
export const strictBody = <Members extends TProperties>(members: Members, options: TObjectOptions = {}) =>
  Type.Object(members, { ...options, additionalProperties: false });

export const ReasonBody = strictBody({
  reason: Type.String({ minLength: 1, maxLength: 500, description: 'Recorded in the audit log.' }),
});
export const reasonExample = { reason: 'Reported by its users.' };
