import { claimLists } from '../oauth/claims/claim-lists.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { type ClientId, digest, type UserId } from '../platform/ids.ts';
import { isUserOf } from './clients.store.ts';
import { type ChangedClaim, type Payload, scopeOfClaims, uriOf } from './events.ts';
import type { Signal, Stream } from './store.ts';

export type SignDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'keys' | 'clients'>;

/**
 * The security event token of a signal (RFC 8417 §2, SSF 1.0 §4): one event, `sub_id`, and neither `sub` nor `exp`. It is signed each
 * time it is sent, with RS256 (CAEP Interoperability Profile 1.0 §2.6), and differs only by the key, and by the values of claims.
 */
export async function signSignal(
  deps: SignDeps,
  { delivery_id, stream_id, user_id, event_id, event_type, payload, created_at }: Signal,
  { credential_id: aud, client_id }: Pick<Stream, 'credential_id' | 'client_id'>,
): Promise<string> {
  const { at, claims, members } = payload;
  return deps.keys.sign('RS256', 'secevent+jwt', {
    iss: deps.config.baseUrl,
    aud,
    iat: created_at,
    jti: delivery_id,
    txn: txnOf({ stream_id, client_id }, event_id),
    ...(at !== undefined && { toe: at }),
    sub_id: user_id === null ? { format: 'opaque', id: stream_id } : subjectOf(deps.config.baseUrl, user_id, payload),
    events: {
      [uriOf(event_type)]: {
        ...members,
        ...(claims && user_id !== null && { claims: await valuesOf(deps, user_id, claims, client_id) }),
      },
    },
  });
}

/**
 * The same of all signals of one event (RFC 8417 §2.2). Clients and their owners get a digest of its id, which counts the events of a process,
 * those of others as well.
 */
export const txnOf = ({ stream_id, client_id }: Pick<Stream, 'stream_id' | 'client_id'>, event_id: string): string =>
  client_id === null ? event_id : digest(`${stream_id} ${event_id}`);

/** RFC 9493 §3.2, SSF 1.0 §3.3. */
function subjectOf(iss: string, sub: string, { email, session_id }: Payload): object {
  if (email !== undefined) return { format: 'email', email };
  const user = { format: 'iss_sub', iss, sub };
  return session_id === undefined ? user : { format: 'complex', user, session: { format: 'opaque', id: session_id } };
}

/** Without those that the client may not read any more. */
async function valuesOf(
  { db, clock, clients }: SignDeps,
  user_id: UserId,
  claims: readonly ChangedClaim[],
  client_id: ClientId | null,
): Promise<object> {
  const client = client_id === null ? { visible_groups: null } : await clients.find(client_id);
  if (!client) return {};
  const mayRead = async (claim: ChangedClaim) => {
    if (client_id === null || !('allowed_scopes' in client)) return true;
    const scope = scopeOfClaims[claim];
    return (
      client.allowed_scopes.includes(scope) &&
      isUserOf(db.of(user_id), client_id, { user_id, at: now({ clock }), scope })
    );
  };
  const lists = claimLists(db, user_id, client);
  const values = claims.map(async (claim) => ((await mayRead(claim)) ? [[claim, await lists[claim]()] as const] : []));
  return Object.fromEntries((await Promise.all(values)).flat());
}
