import { claimLists } from '../oauth/claims/claim-lists.ts';
import type { Deps } from '../oauth/deps.ts';
import type { UserId } from '../platform/ids.ts';
import { type ChangedClaim, type Payload, uriOf } from './events.ts';
import type { Signal } from './store.ts';

type SignDeps = Pick<Deps, 'db' | 'config' | 'keys'>;

/**
 * The security event token of a signal (RFC 8417 §2, SSF 1.0 §4): one event, `sub_id`, and neither `sub` nor `exp`. It is signed each
 * time it is sent, with RS256 (CAEP Interoperability Profile 1.0 §2.6), and differs only by the key, and by the values of claims.
 */
export async function signSignal(
  deps: SignDeps,
  { delivery_id, stream_id, user_id, event_id, event_type, payload, created_at }: Signal,
  aud: string,
): Promise<string> {
  const { at, claims, members } = payload;
  return deps.keys.sign('RS256', 'secevent+jwt', {
    iss: deps.config.baseUrl,
    aud,
    iat: created_at,
    jti: delivery_id,
    txn: event_id,
    ...(at !== undefined && { toe: at }),
    sub_id: user_id === null ? { format: 'opaque', id: stream_id } : subjectOf(deps.config.baseUrl, user_id, payload),
    events: {
      [uriOf(event_type)]: {
        ...members,
        ...(claims && user_id !== null && { claims: await valuesOf(deps, user_id, claims) }),
      },
    },
  });
}

/** RFC 9493 §3.2, SSF 1.0 §3.3. */
function subjectOf(iss: string, sub: string, { email, session_id }: Payload): object {
  if (email !== undefined) return { format: 'email', email };
  const user = { format: 'iss_sub', iss, sub };
  return session_id === undefined ? user : { format: 'complex', user, session: { format: 'opaque', id: session_id } };
}

async function valuesOf({ db }: SignDeps, user_id: UserId, claims: readonly ChangedClaim[]): Promise<object> {
  const lists = claimLists(db, user_id, { visible_groups: null });
  return Object.fromEntries(await Promise.all(claims.map(async (claim) => [claim, await lists[claim]()])));
}
