import { type AuditAction, actionGroups, auditActions, isAuditAction } from '../audit/actions.ts';
import type { AuditRow } from '../audit/statements.ts';

/** Of no use to a back end: what administrators do with this server, and steps that have changed nothing yet. */
const unreported = [
  ...actionGroups.webhooks,
  ...actionGroups.signals,
  ...actionGroups.log,
  'client.review_asked',
  'client_host.approved',
  'client_host.removed',
  'user.unlocked',
  'user.list_imported',
  'user.invitation_revoked',
  'email.verification_asked',
  'email.change_asked',
  'passkey.renamed',
  'session.second_factor_asked',
  'session.refused',
  'factor_recovery.link_sent',
  'trusted_browser.added',
  'trusted_browser.replayed',
  'trusted_browser.ended',
  'logout.replayed',
  'master_key.backup_confirmed',
  'master_key.replaced',
] as const satisfies readonly AuditAction[];

/** The events that a webhook may report: all other actions of the audit log. The payload has ids and states, never a secret. */
export type EventType = Exclude<AuditAction, (typeof unreported)[number]>;

const isReported = (action: AuditAction): action is EventType => !unreported.some((one) => one === action);
export const eventTypes: readonly EventType[] = auditActions.filter(isReported);

export const isEventType = (name: string): name is EventType => isAuditAction(name) && isReported(name);

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
  'factor_recovery.completed': allAccessOfUser,
  'password.changed': allAccessOfUser,
  'password.set': allAccessOfUser,
  'password.reset': allAccessOfUser,
  'password.removed': allAccessOfUser,
  'session.ended': (session_id, { user_id }) => ({ user_id, client_id: all, session_id }),
  'session.ended_others': (user_id, { kept_session_id }) => ({
    ...allAccessOfUser(user_id),
    except_session_id: kept_session_id,
  }),
  'security_alert.denied': allAccessOfUser,
  'app.disconnected': (client_id, { user_id }) => ({ user_id, client_id, session_id: all }),
  'client.suspended': allUsersOfClient,
  'client.deleted': allUsersOfClient,
  'grant.revoked': (_, { user_id, client_id, session_id }) => ({ user_id, client_id, session_id }),
};

/** Email and IP addresses stay in the log: a receiver that needs one asks the API. */
function stateIn(after_state: string | null): Record<string, unknown> {
  const { email: _, uses, ...state } = (after_state === null ? {} : JSON.parse(after_state)) as Record<string, unknown>;
  if (!Array.isArray(uses)) return state;
  return { ...state, uses: uses.map(({ address, ...use }: Record<string, unknown>) => use) };
}

/** The body of a delivery (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */
export function payloadOf({ action, at, event_id, target, actor, reason, after_state }: AuditRow): string {
  const state = stateIn(after_state);
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
