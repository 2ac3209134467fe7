import type { AuditRow } from '../audit/statements.ts';
import { now } from '../platform/clock.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { newId } from '../platform/ids.ts';
import { type Payload, scopeOfClaims, signalsIn, uriOf } from './events.ts';
import { planSignals } from './store.ts';

/** Only clients that see these themselves are notified: an address, claims, a session; a group as well. */
const whatClientsMayKnow = ({ email, claims, session_id }: Payload) => ({
  scope: email === undefined ? claims && scopeOfClaims[claims[0]!] : 'email',
  session_id,
});

/** For the change that seals an event: its signals, for each stream that wants them. */
export const signalsOf =
  (deps: Pick<Deps, 'clock'>) =>
  (event: AuditRow): Sql[] =>
    signalsIn(event).map(({ type, user_id, group_id, ...signal }) =>
      planSignals(
        {
          ...signal,
          about: { user_id, at: event.at, group_id, ...whatClientsMayKnow(signal.payload) },
          delivery_id: newId('msg'),
          event_id: event.event_id,
          event_type: type,
          created_at: Math.min(event.at, now(deps)), // a receiver refuses a token of the future
          uri: uriOf(type),
        },
        now(deps),
      ),
    );
