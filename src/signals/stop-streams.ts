import { auditEvent } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { newId, type StreamId } from '../platform/ids.ts';
import { streamsToStop } from './clients.store.ts';
import { deleteStream, dropWaiting } from './manage-stream.ts';
import { disableStream, findStream, insertOwnSignal, lockStream, type Stream } from './store.ts';

/** For the client, once it is approved again, and for operators. */
export const stopReason =
  'The client was suspended. What waited was deleted; enable the stream when the client is approved again.';

type StopDeps = Pick<Deps, 'db' | 'clock' | 'log'>;

/**
 * Disables the streams of clients that are not approved any more, and deletes those of deleted ones. Nothing is queued, pushed or given
 * to a poll from the moment of the suspension: this writes it down, and frees the queue.
 */
export async function stopStreams(deps: StopDeps): Promise<void> {
  for (const { stream_id, status, has_client } of await streamsToStop(deps.db)) {
    if (has_client) await disable(deps, { stream_id, status });
    else {
      const stream = await findStream(deps.db, stream_id);
      if (stream) await deleteStream(deps, { actor: 'system' }, stream).catch(ifStillThere);
    }
  }

  /** Another node may have deleted it meanwhile. */
  async function ifStillThere(error: unknown) {
    if ((await streamsToStop(deps.db)).length > 0) throw error;
  }
}

async function disable(
  deps: StopDeps,
  { stream_id, status }: { stream_id: StreamId; status: Stream['status'] },
): Promise<void> {
  const at = now(deps);
  const states = { before: { status }, after: { status: 'disabled' } };
  const event = auditEvent(
    { action: 'signal_stream.disabled', actor: 'system', target: stream_id, reason: stopReason, ...states },
    at,
  );
  const done = await deps.db.shared.change({
    lock: lockStream(stream_id),
    run: {
      stream: mustChange(disableStream(stream_id, stopReason)),
      event: event.statement,
      notice: insertOwnSignal(
        {
          delivery_id: newId('msg'),
          stream_id,
          event_id: event.event_id,
          event_type: 'stream-updated',
          payload: { members: { status: 'disabled', reason: stopReason } },
        },
        at,
      ),
    },
  });
  if (!done.ok) return; // another node was faster
  deps.log.warn({ stream_id }, 'the signal stream of a suspended client was disabled');
  await dropWaiting(deps, stream_id);
}
