import { isDeepStrictEqual } from 'node:util';
import type { AuditAction } from '../audit/actions.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import { workIn } from '../platform/db/parts.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import { tables } from '../platform/db/tables.ts';
import { invalidFields, invalidState, notFound } from '../platform/errors.ts';
import { type ClientId, type CredentialId, newId, type StreamId } from '../platform/ids.ts';
import { type CounterDeps, windowLimit } from '../platform/limits/failure-limits.ts';
import { originOf } from '../webhooks/terms.ts';
import {
  deletedStreams,
  deleteExclusions,
  deleteSignals,
  deleteStreamRow,
  deleteWaiting,
  insertStream,
  lockStream,
  markStreamDeleted,
  type StoredStream,
  type Stream,
  updateStream,
} from './store.ts';
import { deliveredTo, readStream, requireStreamOf, streamRecord, type Terms, type WantedStream } from './stream.ts';
import type { StreamStatus } from './stream-status.ts';

/** A service credential with the permission `signals:manage`, or an approved client. */
export type Receiver = {
  /** Of the credential or the client. */
  readonly id: CredentialId | ClientId;
  /** Null of a credential. */
  readonly client_id: ClientId | null;
  readonly caller: Caller;
};

type ManageDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'vault'>;

const actsAnHour = 600;

/**
 * Counts something that a receiver does with its stream: each is a row for good, or for weeks. What it polls and acknowledges is not counted.
 * @throws {RequestError} `rate_limited`.
 */
export const countAct = (deps: CounterDeps, { id }: Pick<Receiver, 'id'>): Promise<void> =>
  windowLimit(deps, { name: 'signal-stream', limit: actsAnHour, windowSeconds: 3600 }).take(id);

/**
 * The same of an owner with the streams of their clients. A window of their own: the client that they stop may be one that has used up its own.
 * @throws {RequestError} `rate_limited`.
 */
export const countOwnerAct = (deps: CounterDeps, owner_user_id: string): Promise<void> =>
  windowLimit(deps, { name: 'signal-stream-owner', limit: actsAnHour, windowSeconds: 3600 }).take(owner_user_id);

/**
 * @throws {RequestError} `invalid_request` with a problem for each member; `invalid_state` if the receiver has a stream; `rate_limited`.
 */
export async function createStream(deps: ManageDeps, by: Receiver, wanted: WantedStream): Promise<StoredStream> {
  const terms = readStream(deps, wanted);
  await countAct(deps, by);
  const stream_id = newId('sst');
  const { authorization, ...columns } = terms;
  const stream: StoredStream = {
    ...columns,
    stream_id,
    credential_id: by.id,
    client_id: by.client_id,
    authorization_sealed: sealed(deps, stream_id, authorization ?? null),
    status: 'enabled',
    reason: null,
    created_at: now(deps),
  };
  const event = { action: 'signal_stream.created', ...by.caller, target: stream_id, after: recorded(stream) } as const;
  const done = await deps.db.shared.change({
    run: { stream: mayConflict(insertStream(stream)), event: auditEvent(event, stream.created_at).statement },
  });
  if (!done.ok) throw invalidState('has_stream');
  return stream;
}

const sealed = ({ vault }: Pick<Deps, 'vault'>, stream_id: StreamId, authorization: string | null): string | null =>
  authorization === null
    ? null
    : vault.seal(tables.signal_streams.sealed.authorization_sealed(stream_id), authorization);

/** For the audit log, which many read: the path of an endpoint may be its password. */
const recorded = ({ credential_id, client_id, method, endpoint_url, events_requested }: Stream) => ({
  ...(client_id === null ? { credential_id } : { client_id }),
  method,
  ...(endpoint_url !== null && { origin: originOf(endpoint_url) }),
  events: deliveredTo({ events_requested }),
});

/** In the state after, of which owner's the act is. */
export const ofClient = ({ client_id }: Pick<Stream, 'client_id'>) => (client_id === null ? {} : { client_id });

type Wanted = WantedStream & { stream_id: string };

/**
 * Changes the members that are there, and of `delivery` all. The header of its pushes stays with the URL that it was given for.
 * @throws {RequestError} `not_found`; `invalid_request` with a problem for each member; `rate_limited`.
 */
export async function updateOwnStream(deps: ManageDeps, by: Receiver, wanted: Wanted): Promise<Stream> {
  const before = await requireStreamOf(deps, by.id, wanted.stream_id);
  refuseOtherwise(deps, before, wanted);
  const { description, method, endpoint_url, events_requested } = before;
  const { delivery } = streamRecord(deps, before);
  const terms = readStream(deps, {
    description: description ?? '',
    events_requested: [...events_requested],
    delivery,
    ...wanted,
  });
  const isThere = terms.method === method && terms.endpoint_url === endpoint_url;
  return changeTerms(deps, by, before, {
    ...terms,
    authorization: terms.authorization ?? (isThere ? undefined : null),
  });
}

/** What is left out is as in a new stream. @throws {RequestError} as {@link updateOwnStream}. */
export async function replaceOwnStream(deps: ManageDeps, by: Receiver, wanted: Wanted): Promise<Stream> {
  const before = await requireStreamOf(deps, by.id, wanted.stream_id);
  refuseOtherwise(deps, before, wanted);
  const terms = readStream(deps, wanted);
  return changeTerms(deps, by, before, { ...terms, authorization: terms.authorization ?? null });
}

/** SSF 1.0 §8.1.1.3: what we supply may be in the body, and must be as it is. */
function refuseOtherwise(deps: Pick<Deps, 'config'>, stream: Stream, wanted: object): void {
  const { description: _, events_requested: __, delivery: ___, ...supplied } = streamRecord(deps, stream);
  const sent = wanted as Readonly<Record<string, unknown>>;
  const isOther = (name: string, value: unknown) =>
    Array.isArray(value) && Array.isArray(sent[name])
      ? new Set(value).symmetricDifference(new Set(sent[name])).size > 0
      : !isDeepStrictEqual(sent[name], value);
  const other = Object.entries(supplied).filter(([name, value]) => sent[name] !== undefined && isOther(name, value));
  if (other.length > 0)
    throw invalidFields(
      other.map(([path]) => ({ path, message: 'Is set by this server, and differs. Leave it out.' })),
    );
}

async function changeTerms(deps: ManageDeps, by: Receiver, before: StoredStream, terms: Terms): Promise<Stream> {
  const { stream_id } = before;
  const { authorization, ...columns } = terms;
  const after = { ...before, ...columns };
  const keepsHeader = authorization === undefined || (authorization === null && before.authorization_sealed === null);
  if (keepsHeader && isDeepStrictEqual(after, before)) return before;
  await countAct(deps, by);
  const to = {
    ...columns,
    ...(authorization !== undefined && { authorization_sealed: sealed(deps, stream_id, authorization) }),
  };
  const states = { before: recorded(before), after: recorded(after) };
  await change(
    deps,
    { action: 'signal_stream.edited', ...by.caller, target: stream_id, ...states },
    updateStream(stream_id, to),
  );
  return after;
}

/**
 * Changes one stream, with an event about it.
 * @param beside in the same change.
 * @throws {RequestError} `not_found`.
 */
export async function change(
  deps: Pick<Deps, 'db' | 'clock'>,
  event: { action: AuditAction; target: StreamId; before?: object; after?: object; reason?: string } & Caller,
  stream: Sql,
  beside: readonly Sql[] = [],
): Promise<void> {
  const { statement } = auditEvent(event as Parameters<typeof auditEvent>[0], now(deps));
  const done = await deps.db.shared.change({
    lock: lockStream(event.target),
    run: { stream: mustChange(stream), event: statement, beside },
  });
  if (!done.ok) throw notFound();
}

const actions = {
  enabled: 'signal_stream.enabled',
  paused: 'signal_stream.paused',
  disabled: 'signal_stream.disabled',
} as const satisfies Readonly<Record<StreamStatus, AuditAction>>;

/**
 * A paused stream holds its signals until it is enabled. A disabled one gets none, and loses those that wait. Nothing changes if it is so
 * already.
 * @param beside in the same change.
 */
export async function setStatus(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  { stream_id, client_id, status: before, reason }: Stream,
  to: { status: StreamStatus; reason: string | null },
  beside: readonly Sql[] = [],
): Promise<void> {
  if (before === to.status && reason === to.reason) return;
  // What was queued while it was disabled: what comes behind the change is for its receiver.
  if (before === 'disabled') await dropWaiting(deps, stream_id);
  const states = { before: { status: before }, after: { status: to.status, ...ofClient({ client_id }) } };
  const event = { action: actions[to.status], ...caller, target: stream_id, ...states };
  await change(deps, to.reason === null ? event : { ...event, reason: to.reason }, updateStream(stream_id, to), beside);
  if (to.status === 'disabled') await dropWaiting(deps, stream_id);
}

/** Deletes what waits about users. */
export const dropWaiting = ({ db }: Pick<Deps, 'db'>, stream_id: StreamId) =>
  workIn(db.parts, (part) => inSlices(async (rows) => (await deleteWaiting(part, stream_id, rows)).changes));

/** Takes effect at once; what is queued is deleted by a job. @throws {RequestError} `not_found`. */
export const deleteStream = (deps: Pick<Deps, 'db' | 'clock'>, caller: Caller, stream: Stream): Promise<void> =>
  change(
    deps,
    {
      action: 'signal_stream.deleted',
      ...caller,
      target: stream.stream_id,
      before: recorded(stream),
      after: ofClient(stream),
    },
    markStreamDeleted(stream.stream_id, now(deps)),
  );

/** Deletes what was queued for streams that are deleted, in slices, and then their rows. @returns false if the signal ended it before all was done. */
export async function finishStreamDeletions({ db }: Pick<Deps, 'db'>, signal?: AbortSignal): Promise<boolean> {
  for (;;) {
    const streams = await deletedStreams(db);
    if (streams.length === 0) return true;
    for (const { stream_id } of streams) {
      for (const some of [deleteSignals, deleteExclusions]) {
        const done = await workIn(db.parts, (part) =>
          inSlices(async (rows) => (await some(part, stream_id, rows)).changes, signal),
        );
        if (done.includes(false)) return false;
      }
      await deleteStreamRow(db, stream_id);
    }
  }
}
