import type { Deps } from '../oauth/deps.ts';
import { streamsToStop } from './clients.store.ts';
import { deleteStream, dropWaiting } from './manage-stream.ts';
import { type Stopped, stopStream } from './stop-stream.ts';
import { disableStream, findStream } from './store.ts';

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

async function disable(deps: StopDeps, stream: Stopped): Promise<void> {
  const { stream_id } = stream;
  const to = { status: 'disabled', reason: stopReason } as const;
  if (!(await stopStream(deps, stream, to, disableStream(stream_id, stopReason)))) return; // another node was faster
  deps.log.warn({ stream_id }, 'the signal stream of a suspended client was disabled');
  await dropWaiting(deps, stream_id);
}
