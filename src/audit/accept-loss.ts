import { now } from '../platform/clock.ts';
import { refusal } from '../platform/errors.ts';
import { auditEvent, type Caller } from './audit.ts';
import { type ChainFault, findLoss, genesis } from './chain.ts';
import type { Deps } from './deps.ts';
import { readHeads, recordAcceptedLoss } from './head.ts';
import { readReason } from './reason.ts';
import { chainHead } from './store.ts';
import type { Head } from './witness.ts';

/**
 * An operator acknowledges that the end of the chain is lost, as after a restore of a backup: events are sealed again, on
 * top of what there is. Every node learns it from the database, where it is sealed under the master key.
 * @returns what was lost, and the place at which the chain goes on.
 * @throws {RequestError} `invalid_state` when nothing is lost; `invalid_request` without a reason.
 */
export async function acceptLoss(
  deps: Pick<Deps, 'db' | 'clock' | 'vault' | 'witness'>,
  caller: Caller,
  text: string,
): Promise<{ lost: ChainFault; head: Head }> {
  const reason = readReason(text);
  const lost = await findLoss(deps);
  if (!lost) throw refusal('invalid_state', { key: 'audit.nothing_lost', values: { file: deps.witness.path } });
  if (lost.why === 'file') throw refusal('invalid_state', { key: 'audit.file_unreadable' });
  const { seq, seal } = (await chainHead(deps.db)) ?? genesis;
  const seen = await deps.witness.known();
  const known = seen === undefined || seen === 'unreadable' ? undefined : seen;
  const earlier = Math.max((await readHeads(deps.db, deps.vault)).accepted?.accepted ?? 0, known?.accepted ?? 0);
  const event = auditEvent(
    {
      action: 'audit_log.loss_accepted',
      ...caller,
      reason,
      before: { seq: lost.seq, why: lost.why, seal: known?.seal },
      after: { seq, seal },
    },
    now(deps),
  );
  const acceptance = recordAcceptedLoss(deps.vault, { seq, seal, accepted: earlier + 1 });
  await deps.db.change({ run: { acceptance, event: event.statement } });
  return { lost, head: { seq, seal } };
}
