import type { Caller } from '../audit/audit.ts';
import type { DeliverySearch } from '../deliveries/queue.ts';
import { resendDelivery } from '../deliveries/resend.ts';
import { hasExpired, type Permission } from '../entitlements/service-credentials/service-credential.ts';
import { readCredential } from '../entitlements/statements.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { invalidState, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { uriOf } from './events.ts';
import { deleteStream, ofClient, setStatus } from './manage-stream.ts';
import { txnOf } from './sign-signal.ts';
import { lastDelivered, listStreams, lockStream, noticesOf, type Stream, signalDeliveries, streamOf } from './store.ts';
import { deliveredTo, requireStream } from './stream.ts';
import { sendVerification } from './verify-stream.ts';

// What administrators do with the streams of receivers, and owners with those of their clients.

const permission: Permission = 'signals:manage';
type WatchDeps = StoreDeps & Pick<Deps, 'clients'>;
export type WatchedStream = Awaited<ReturnType<typeof watchedStream>>;

async function credentialOf(deps: StoreDeps, credential_id: string) {
  const credential = await readCredential(deps.db, credential_id);
  return (
    credential && {
      name: credential.name,
      isActive:
        credential.retired_at === null &&
        !hasExpired(credential, now(deps)) &&
        credential.permissions.includes(permission),
    }
  );
}

async function clientOf({ clients }: WatchDeps, client_id: string) {
  const client = await clients.find(client_id);
  return client && { name: client.name, isActive: client.status === 'approved' };
}

/** Without what the receiver authenticates us by. */
async function watched(deps: WatchDeps, stream: Stream) {
  const { db } = deps;
  const { credential_id, client_id, stream_id } = stream;
  const [counts, last, receiver] = await Promise.all([
    signalDeliveries.counts(db, stream_id),
    lastDelivered(db, stream_id),
    client_id === null ? credentialOf(deps, credential_id) : clientOf(deps, client_id),
  ]);
  const { stream_id: id, description, method, endpoint_url, status, reason, created_at } = stream;
  return {
    stream_id: id,
    credential_id,
    client_id,
    receiver: receiver?.name ?? credential_id,
    credential_active: receiver?.isActive === true,
    description,
    method,
    endpoint_url,
    events: deliveredTo(stream),
    status,
    reason,
    created_at,
    ...counts,
    last_delivered_at: last ?? null,
  };
}

/** Oldest first. */
export const watchedStreams = async (deps: WatchDeps) =>
  Promise.all((await listStreams(deps.db)).map((one) => watched(deps, one)));

/** @throws {RequestError} `not_found`. */
export const watchedStream = async (deps: WatchDeps, stream_id: string) =>
  watched(deps, await requireStream(deps, stream_id));

/** Signals that its owner is shown. */
const shownOfClient = 10;

export type StreamOfClient = Exclude<Awaited<ReturnType<typeof streamOfClient>>, undefined>;

/** The stream of a client, with its latest signals. @returns undefined if it has none. */
export async function streamOfClient(deps: WatchDeps, client_id: string) {
  const stream = await streamOf(deps.db, client_id);
  if (!stream) return undefined;
  const [one, { deliveries }] = await Promise.all([
    watched(deps, stream),
    findSignals(deps, stream.stream_id, { limit: shownOfClient }),
  ]);
  return { stream: one, latest: deliveries };
}

/** @throws {RequestError} `not_found` if it has none. */
export async function requireStreamOfClient({ db }: Pick<Deps, 'db'>, client_id: string): Promise<Stream> {
  const stream = await streamOf(db, client_id);
  if (!stream) throw notFound();
  return stream;
}

/** Newest first, a page at a time. @throws {RequestError} `not_found`; `invalid_request` for an `after` that no page has given. */
export async function findSignals(deps: StoreDeps, stream_id: string, search?: DeliverySearch) {
  const stream = await requireStream(deps, stream_id);
  const { deliveries, next } = await signalDeliveries.page(deps.db, stream.stream_id, search);
  return {
    deliveries: deliveries.map(({ payload: _, stream_id: __, ordinal: ___, event_type, ...one }) => ({
      ...one,
      txn: txnOf(stream, one.event_id),
      event_type: uriOf(event_type),
    })),
    next,
  };
}

/**
 * Pauses or enables a stream, and tells its receiver (SSF 1.0 §8.1.5).
 * @throws {RequestError} `not_found`; `invalid_state` if it is as wanted already.
 */
export async function setStreamStatus(
  deps: StoreDeps,
  caller: Caller,
  stream_id: string,
  status: 'enabled' | 'paused',
  why = 'Paused by an administrator.',
): Promise<{ stream_id: string }> {
  const stream = await requireStream(deps, stream_id);
  if (stream.status === status) throw invalidState(status);
  const reason = status === 'paused' ? why : null;
  const members = { status, ...(reason !== null && { reason }) };
  const notice = {
    delivery_id: newId('msg'),
    stream_id: stream.stream_id,
    event_id: newId('evt'),
    event_type: 'stream-updated',
    payload: { members },
  };
  await setStatus(deps, caller, stream, { status, reason }, noticesOf(notice, now(deps)));
  return { stream_id };
}

/** @throws {RequestError} `not_found`. */
export const removeStream = async (deps: StoreDeps, caller: Caller, stream_id: string): Promise<void> =>
  deleteStream(deps, caller, await requireStream(deps, stream_id));

/** @throws {RequestError} `not_found`; `rate_limited` while many wait. */
export async function verifyStream(deps: StoreDeps, stream_id: string): Promise<{ stream_id: string }> {
  await sendVerification(deps, await requireStream(deps, stream_id), undefined);
  return { stream_id };
}

/** Sends a signal once more that was given up, or tries at once one that waits. @throws {RequestError} `not_found`; `invalid_state`. */
export async function resendSignal(
  deps: StoreDeps,
  caller: Caller,
  { stream_id, delivery_id }: { stream_id: string; delivery_id: string },
): Promise<{ delivery_id: string }> {
  const stream = await requireStream(deps, stream_id);
  return resendDelivery(deps, caller, signalDeliveries, {
    receiver_id: stream_id,
    delivery_id,
    from: ['dead'],
    event: { action: 'signal_stream.replayed', after: { stream_id, ...ofClient(stream) } },
    lock: lockStream(stream.stream_id),
  });
}
