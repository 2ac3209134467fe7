import type { AuditRow } from '../audit/store.ts';

/** What others may be told of, by the action in the audit log. The payload holds ids and states, never a secret. */
export const eventTypes = [
  'user.created',
  'user.disabled',
  'user.enabled',
  'user.deleted',
  'user.signed_out',
  'user.factors_reset',
  'user.role_changed',
  'session.started',
  'session.ended',
  'session.ended_others',
  'app.disconnected',
  'consent.given',
  'password.reset',
  'client.registered',
  'client.edited',
  'client.approved',
  'client.rejected',
  'client.change_requested',
  'client.change_approved',
  'client.change_rejected',
  'client.suspended',
  'client.reinstated',
  'client.deleted',
  'grant.revoked',
  'key.rotated',
  'entitlement.written',
] as const;
export type EventType = (typeof eventTypes)[number];

export const isEventType = (name: string): name is EventType => eventTypes.some((type) => type === name);

/** The body of a delivery (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */
export const payloadOf = (event: AuditRow): string =>
  JSON.stringify({
    type: event.action,
    timestamp: new Date(event.at * 1000).toISOString(),
    data: {
      event_id: event.event_id,
      target: event.target,
      actor: event.actor,
      reason: event.reason,
      ...(event.after_state === null ? {} : { state: JSON.parse(event.after_state) }),
    },
  });
