import type { Db } from '../platform/db/db.ts';
import { findMarks, forgetMove, type Mark, noteTime } from '../platform/db/move/marks.ts';
import { openEnds } from '../platform/db/move/open-ends.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { openDb } from '../platform/db/open.ts';
import { findHeartbeat, findRunning } from '../platform/processes.ts';
import type { Config } from './config.ts';
import { nameOf, openSource, settingsOf } from './move.ts';

/**
 * The store of the settings is used again, and the other one never. What was written there would be lost, so nothing may have been.
 * @param to needed once the store is closed, unless `force`: the other store is gone, or what it has is given up.
 * @throws {MoveRefused}
 */
export async function abandonMove(config: Config, to: string | undefined, force: boolean): Promise<{ other: string }> {
  const db = await openSource(config);
  try {
    const { source: mark } = await findMarks(db);
    if (!mark) throw new MoveRefused('No move from this store has begun. Nothing was changed.');
    if (mark.closed_at !== null && !force) await giveUpOther({ config, db, mark, to });
    await forgetMove(db);
    return { other: mark.other };
  } finally {
    await db.close();
  }
}

type Closed = { config: Config; db: Db; mark: Mark; to: string | undefined };

/** From here on no server starts on it. */
async function giveUpOther({ config, db, mark, to }: Closed): Promise<void> {
  if (to === undefined) {
    throw new MoveRefused(
      `This store is closed, and ${mark.other} may have taken its place. Name that one, as for the move: --to … or SIGNET_MOVE_TO_FILE. If it is gone, or what was written there is given up: --force. Nothing was changed.`,
    );
  }
  const settings = settingsOf(config, to);
  if (nameOf(settings) !== mark.other) throw new MoveRefused(`The move was to ${mark.other}. Nothing was changed.`);
  const otherDb = await openDb(settings);
  const { source, target: other } = await openEnds(config, settings);
  try {
    const { target } = await findMarks(otherDb);
    if (target?.move_id !== mark.move_id) return; // it was emptied, or is another store
    const log = { name: 'audit_log' } as const;
    const wasUsed =
      target.finished_at !== null &&
      ((await findRunning(otherDb)).length > 0 ||
        (await findHeartbeat(otherDb))?.at !== (await findHeartbeat(db))?.at ||
        (await other.count(log)) > (await source.count(log)) + 1); // the event of the move itself
    if (wasUsed) {
      throw new MoveRefused(
        `${mark.other} was used since the move: what was written there would be lost. Move it back instead, with its settings; or give that up: --force. Nothing was changed.`,
      );
    }
    await noteTime(other, 'target', 'finished_at', null);
  } finally {
    await Promise.all([source.close(), other.close()]);
    await otherDb.close();
  }
}
