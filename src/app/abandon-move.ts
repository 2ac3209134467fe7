import type { Db } from '../platform/db/db.ts';
import type { End } from '../platform/db/move/ends.ts';
import { findMarks, forgetMove, type Mark, noteTime } from '../platform/db/move/marks.ts';
import { openEnds } from '../platform/db/move/open-ends.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { openDb } from '../platform/db/open.ts';
import { workIn } from '../platform/db/parts.ts';
import { findHeartbeat, findRunning } from '../platform/processes.ts';
import type { Config } from './config.ts';
import { openSource } from './move.ts';
import { nameOf, settingsOf } from './move-settings.ts';

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

const log = { name: 'audit_log' } as const;

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
  const { source, parts, close } = await openEnds(config, settings, otherDb.placeOf);
  try {
    const { target } = await findMarks(otherDb);
    if (target?.move_id !== mark.move_id) return; // it was emptied, or is another store
    const rowsIn = async (ends: readonly End[]) =>
      (await workIn(ends, (end) => end.count(log))).reduce((sum, rows) => sum + rows, 0);
    const wasUsed =
      target.finished_at !== null &&
      ((await findRunning(otherDb)).length > 0 ||
        (await findHeartbeat(otherDb))?.at !== (await findHeartbeat(db))?.at ||
        (await rowsIn(parts)) > (await source.count(log)) + 1); // the event of the move itself
    if (wasUsed) {
      throw new MoveRefused(
        `${mark.other} was used since the move: what was written there would be lost. Move it back instead, with its settings; or give that up: --force. Nothing was changed.`,
      );
    }
    await noteTime(parts[0], 'target', 'finished_at', null);
  } finally {
    await close();
    await otherDb.close();
  }
}
