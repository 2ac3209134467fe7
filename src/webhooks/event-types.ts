import type { AuditAction } from '../audit/actions.ts';
import type { AuditRow } from '../audit/read-log.ts';

/** The events that a webhook may report: actions of the audit log. The payload has ids and states, never a secret. */
export const eventTypes = [
  'user.created',
  'user.invited',
  'user.changed',
  'user.disabled',
  'user.enabled',
  'user.deleted',
  'user.signed_out',
  'user.factors_reset',
  'user.picture_removed',
  'user.role_changed',
  'user.data_exported',
  'user.list_exported',
  'administrator.invited',
  'email.changed',
  'email.verified',
  'password.changed',
  'password.set',
  'password.reset',
  'password.removed',
  'password.reset_link_created',
  'totp.confirmed',
  'totp.disabled',
  'backup_codes.regenerated',
  'backup_code.used',
  'passkey.added',
  'passkey.removed',
  'passkey.copy_suspected',
  'identity.linked',
  'identity.unlinked',
  'session.started',
  'session.ended',
  'session.ended_others',
  'app.disconnected',
  'consent.given',
  'client.registered',
  'client.edited',
  'client.approved',
  'client.rejected',
  'client.change_requested',
  'client.change_withdrawn',
  'client.change_approved',
  'client.change_rejected',
  'client.policy_changed',
  'client.suspended',
  'client.reinstated',
  'client.deleted',
  'client.secret_added',
  'client.secret_retired',
  'grant.revoked',
  'service_credential.created',
  'service_credential.rotated',
  'service_credential.restricted',
  'service_credential.retired',
  'key.rotated',
  'entitlement.written',
] as const satisfies readonly AuditAction[];
export type EventType = (typeof eventTypes)[number];

export const isEventType = (name: string): name is EventType => eventTypes.some((type) => type === name);

type State = Readonly<Record<string, unknown>>;

/**
 * Which tokens are no longer valid after an event: those whose `sub`, `client_id` and `sid` are these, each an id or `all`.
 * One rule for all events, so that a back end which keeps sessions of its own can end them without knowing each type.
 */
type RevokedTokens = { user_id: unknown; client_id: unknown; session_id: unknown; except_session_id?: unknown };

const all = 'all';
const allAccessOfUser = (user_id: string | null): RevokedTokens => ({ user_id, client_id: all, session_id: all });
const allUsersOfClient = (client_id: string | null): RevokedTokens => ({ user_id: all, client_id, session_id: all });

/** Every action that revokes grants is here, or the revocation would go unreported. */
const endedBy: { readonly [Type in EventType]?: (target: string | null, state: State) => RevokedTokens } = {
  'user.disabled': allAccessOfUser,
  'user.deleted': allAccessOfUser,
  'user.signed_out': allAccessOfUser,
  'user.factors_reset': allAccessOfUser,
  'password.changed': allAccessOfUser,
  'password.set': allAccessOfUser,
  'password.reset': allAccessOfUser,
  'password.removed': allAccessOfUser,
  'session.ended': (session_id, { user_id }) => ({ user_id, client_id: all, session_id }),
  'session.ended_others': (user_id, { kept_session_id }) => ({
    ...allAccessOfUser(user_id),
    except_session_id: kept_session_id,
  }),
  'app.disconnected': (client_id, { user_id }) => ({ user_id, client_id, session_id: all }),
  'client.suspended': allUsersOfClient,
  'client.deleted': allUsersOfClient,
  'grant.revoked': (_, { user_id, client_id, session_id }) => ({ user_id, client_id, session_id }),
};

/** The body of a delivery (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */
export function payloadOf({ action, at, event_id, target, actor, reason, after_state }: AuditRow): string {
  // Email addresses stay in the log: a receiver that needs one asks the API.
  const { email: _, ...state } = (after_state === null ? {} : JSON.parse(after_state)) as Record<string, unknown>;
  const ended = isEventType(action) ? endedBy[action]?.(target, state) : undefined;
  return JSON.stringify({
    type: action,
    timestamp: new Date(at * 1000).toISOString(),
    data: {
      event_id,
      target,
      actor,
      reason,
      ...(Object.keys(state).length > 0 && { state }),
      ...(ended && { ended }),
    },
  });
}
