import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { rateLimited } from '../platform/errors.ts';
import { type EventId, newId } from '../platform/ids.ts';
import { hasRoomForOwn, insertOwnSignal, lockStream, type Stream } from './store.ts';

/** Seconds after which a receiver that asked for too many asks again. */
const retryAfter = 60;

/**
 * Queues a verification event (SSF 1.0 §8.1.4), which is sent whatever the status of the stream.
 * @param state of the receiver, which it gets back; undefined if it did not ask.
 * @throws {RequestError} `rate_limited` while many wait.
 */
export async function sendVerification(
  deps: Pick<Deps, 'db' | 'clock'>,
  { stream_id }: Pick<Stream, 'stream_id'>,
  state: string | undefined,
): Promise<void> {
  const delivery_id = newId('msg');
  const event_id: EventId = newId('evt');
  const payload = { members: { ...(state !== undefined && { state }) } };
  const done = await deps.db.shared.change({
    lock: lockStream(stream_id),
    require: { room: hasRoomForOwn(stream_id) },
    run: {
      signal: insertOwnSignal({ delivery_id, stream_id, event_id, event_type: 'verification', payload }, now(deps)),
    },
  });
  if (!done.ok) throw rateLimited(retryAfter);
}
