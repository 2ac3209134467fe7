import type { AuditRow } from '../audit/statements.ts';
import { now } from '../platform/clock.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { type EventId, newId } from '../platform/ids.ts';
import { type Payload, type PlannedSignal, scopeOfClaims, signalsIn, uriOf } from './events.ts';
import { planSignals } from './store.ts';

/** Only clients that see these themselves are notified: an address, claims, a session; a group as well. */
const whatClientsMayKnow = ({ email, claims, session_id }: Payload) => ({
  scope: email === undefined ? claims && scopeOfClaims[claims[0]!] : 'email',
  session_id,
});

type Planned = PlannedSignal & { at: number };

/** One signal of an event, for each stream that wants it. @param signal `at`: the time of the event. */
export const planOne = (
  deps: Pick<Deps, 'clock'>,
  event_id: EventId,
  { type, at, user_id, group_id, ...signal }: Planned,
): Sql =>
  planSignals(
    {
      ...signal,
      about: { user_id, at, group_id, ...whatClientsMayKnow(signal.payload) },
      delivery_id: newId('msg'),
      event_id,
      event_type: type,
      created_at: Math.min(at, now(deps)), // a receiver refuses a token of the future
      uri: uriOf(type),
    },
    now(deps),
  );

/** For the change that seals an event: its signals, for each stream that wants them. */
export const signalsOf =
  (deps: Pick<Deps, 'clock'>) =>
  (event: AuditRow): Sql[] =>
    signalsIn(event).map((signal) => planOne(deps, event.event_id, { ...signal, at: event.at }));
