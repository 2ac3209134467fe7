import type { AdministrativePermission } from '../accounts/permissions.ts';
import type { Caller } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import type { Access } from '../platform/http/access.ts';
import { inCode } from '../platform/http/operation.ts';
import { type TObjectOptions, type TProperties, Type } from '../platform/schema.ts';
import { textPatterns } from '../platform/text.ts';
import { administrator } from './access.ts';

/** What all operations for administrators have in common. Each says which permission it needs, and so does its description. */
export const administration = (
  permission: AdministrativePermission,
): { tag: 'Administration'; access: Access<Deps, { caller: Caller }> } => ({
  tag: 'Administration',
  access: administrator(permission),
});

/** The path parameter of operations on a client. */
export const anyClient = { client_id: 'client_id of any client.' };

/** A body with no other members. */
export const strictBody = <Members extends TProperties>(members: Members, options: TObjectOptions = {}) =>
  Type.Object(members, { ...options, additionalProperties: false });

const reason = (description: string) => ({
  reason: Type.String({ minLength: 1, maxLength: 500, description, ...inCode({ pattern: textPatterns.paragraph }) }),
});

/** Of a body with other members. */
export const reasonMember = reason('The reason, recorded in the audit log.');
export const ReasonBody = strictBody(reasonMember);
/** Of what programs and commands may do without one; a form always gives it. */
export const optionalReason = {
  reason: Type.Optional(
    Type.String({
      description: 'The reason, recorded in the audit log.',
      ...inCode({ minLength: 1, maxLength: 500, pattern: textPatterns.paragraph }),
    }),
  ),
};
export const OptionalReasonBody = strictBody(optionalReason);
/** Of a decision about a client. */
export const ReasonForOwnerBody = strictBody(reason('The reason, shown to the owner and recorded in the audit log.'));
export const reasonExample = { reason: 'Reported by its users.' };
