import { auditEvent } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Sql } from '../platform/db/sql.ts';
import { newId } from '../platform/ids.ts';
import { lockStream, noticesOf, type Stream } from './store.ts';

export type Stopped = Pick<Stream, 'stream_id' | 'status'>;

/**
 * Pauses or disables a stream by `stop`, in the name of the system, with an event that tells its receiver (SSF 1.0 §8.1.5).
 * @returns false if `stop` found it as it is to be, or gone: nothing has changed.
 */
export async function stopStream(
  deps: Pick<Deps, 'db' | 'clock'>,
  { stream_id, status }: Stopped,
  to: { status: 'paused' | 'disabled'; reason: string },
  stop: Sql,
): Promise<boolean> {
  const at = now(deps);
  const event = auditEvent(
    {
      action: `signal_stream.${to.status}`,
      actor: 'system',
      target: stream_id,
      reason: to.reason,
      before: { status },
      after: { status: to.status },
    },
    at,
  );
  const notice = {
    delivery_id: newId('msg'),
    stream_id,
    event_id: event.event_id,
    event_type: 'stream-updated',
    payload: { members: to },
  };
  const { ok } = await deps.db.shared.change({
    lock: lockStream(stream_id),
    run: { stream: mustChange(stop), event: event.statement, notice: noticesOf(notice, at) },
  });
  return ok;
}
