import { createHash } from 'node:crypto';
import type { Sql } from '../platform/db/sql.ts';
import { fieldProblem, invalidFields } from '../platform/errors.ts';
import { currentRequest } from '../platform/http/current-request.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { type EventId, newId } from '../platform/ids.ts';
import { isSeen } from '../platform/text.ts';
import { type AuditAction, actionsBy } from './actions.ts';
import { insertAuditRow } from './store.ts';

/** A user, a client or a back end by its own credentials, the operator at the command line, or a periodic job. */
export type Actor = `user:${string}` | `client:${string}` | `service:${string}` | 'cli' | 'system';

/** On whose behalf a use-case runs. `address` is where the request came from; the command line has none. */
export type Caller = { readonly actor: Actor; readonly address?: string };

type AuditEvent = {
  action: AuditAction;
  actor: Actor;
  /** The id of what it happened to. */
  target?: string;
  reason?: string;
  /**
   * The fields that the change touched, and the owner where `target` does not identify one; never a secret or its digest:
   * the log outlives both.
   */
  before?: Readonly<Record<string, unknown>>;
  after?: Readonly<Record<string, unknown>>;
  address?: string;
  /** For an event of one part of a change: written only if this is true when the statements before it have had effect. */
  onlyIf?: Sql;
};

/**
 * An event for the log. Put `statement` into the same `db.change` as what it reports: then neither exists without the
 * other.
 *
 * @param now Unix seconds.
 */
export function auditEvent(event: AuditEvent, now: number): { event_id: EventId; statement: Sql } {
  const event_id = newEventId();
  const row = {
    event_id,
    at: now,
    action: event.action,
    actor: event.actor,
    target: event.target ?? null,
    reason: event.reason ?? null,
    before_state: event.before === undefined ? null : stateText(event.before),
    after_state: event.after === undefined ? null : stateText(event.after),
    address: event.address ?? null,
    of_user: concernedBy(event, event.after?.user_id),
  };
  return { event_id, statement: insertAuditRow(row, event.onlyIf) };
}

const namesItsUser: ReadonlySet<string> = new Set(actionsBy('user_id'));

/**
 * The user whom an event names beside its target, unless they have caused it: then it is found by its actor.
 * @param user_id of the state after it.
 */
const concernedBy = ({ action, actor }: { action: string; actor: string | null }, user_id: unknown) =>
  namesItsUser.has(action) && typeof user_id === 'string' && actor !== `user:${user_id}` ? user_id : null;

/** In the course of a logged request the id ends with that of the request, so that the seal is over both. */
function newEventId(): EventId {
  const request_id = currentRequest.getStore()?.id;
  return request_id ? `evt_${nextPlace()}.${request_id}` : newId(`evt_${nextPlace()}`);
}

/** The request in whose course an event happened; null for one of a command or a job, or while requests are not logged. */
export const requestIdOf = (event_id: EventId): string | null => /^evt_[0-9a-f]{8}\.(.+)$/.exec(event_id)?.[1] ?? null;

let place = 0;

/** Ids rise, so that events of the same second keep the order in which this process wrote them. */
function nextPlace(): string {
  place = (place + 1) % 2 ** 32;
  return place.toString(16).padStart(8, '0');
}

/** Characters of JSON, for each field. */
const longest = 2048;

/** The log is kept for ever, so a state is bounded: of a longer one the log keeps its length and a digest to compare. */
function stateText(state: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(state);
  if (text.length <= longest) return text;
  return JSON.stringify(fieldsAsLogged(state));
}

const fieldsAsLogged = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toLoggedValue(value)]));

/** A value as the log keeps it in a long state, for comparison with one in the log: of a long object each field. */
export function toLoggedValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined || text.length <= longest) return value;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return fieldsAsLogged(value);
  return { sha256: createHash('sha256').update(text).digest('base64url'), bytes: Buffer.byteLength(text) };
}

/** Whether a field of a state was too long to be kept. */
export const isDigestOnly = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'sha256' in value && 'bytes' in value;

/**
 * The reason of an action, as the log keeps it and its subject may read it: a few words that show as they were written.
 * @throws {RequestError} `invalid_request` for nothing, for more than 500 characters, and for control characters.
 */
export function readReason(text: string): string {
  const problem = reasonProblem(text);
  if (problem !== undefined) throw invalidFields([fieldProblem('reason', problem)]);
  return withoutCarriage(text);
}

export function reasonProblem(text: string): MessageDescriptor | undefined {
  const reason = withoutCarriage(text);
  const isFine = reason !== '' && reason.length <= 1000 && [...reason].length <= 500;
  return isFine && isSeen(reason.replaceAll('\n', ' ')) ? undefined : { key: 'problem.reason' };
}

/** As a form sends its line breaks. */
const withoutCarriage = (text: string) => text.trim().replaceAll('\r\n', '\n');
