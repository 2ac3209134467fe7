import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { verifyAuditLog } from '../audit/chain.ts';
import { openWitnesses } from '../audit/witness.ts';
import { type Clock, now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Db, OneDb } from '../platform/db/db.ts';
import { isSetUp, type MigratableDb, migrate, refuseUnlessMigrated } from '../platform/db/migrate.ts';
import { copyChanges, countChanges } from '../platform/db/move/changes.ts';
import { compareStores } from '../platform/db/move/compare.ts';
import {
  type Ends,
  type MovedTable,
  type MoveTable,
  makeMoveTable,
  type OnMoveProgress,
  type Target,
  wholeStore,
} from '../platform/db/move/ends.ts';
import { checkCopy, copyAll } from '../platform/db/move/first-pass.ts';
import {
  findMarks,
  findMigrations,
  finishTarget,
  type Mark,
  noteTime,
  whyClosed,
  writeMark,
} from '../platform/db/move/marks.ts';
import { openEnds } from '../platform/db/move/open-ends.ts';
import { planOf, planOfMigrations } from '../platform/db/move/plan.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { databaseFile, openDb } from '../platform/db/open.ts';
import { workIn } from '../platform/db/parts.ts';
import { closeSqliteFile } from '../platform/db/sqlite-backup.ts';
import { ConfigError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { readMasterKey } from '../platform/master-key.ts';
import { openPlacement } from '../platform/placement.ts';
import { findRunning, recordLosses } from '../platform/processes.ts';
import { openVaultFor, type Vault } from '../platform/vault.ts';
import { giveToOwnerOf } from './backup.ts';
import type { Config } from './config.ts';
import { nameOf, refuseAsTarget, settingsOf } from './move-settings.ts';
import { isMovedToCells, prepareToDivide, targetInCells } from './move-to-cells.ts';
import { refuseUnfinishedRestore } from './open-deps.ts';

const notToCitus =
  'The address to move to leads to Citus, to which signet move has not been tried. Move the store to servers of PostgreSQL, or use signet export and signet import. Nothing was changed.';

type Outside = { clock: Clock; log: Logger };
/** `isLast`: the store is closed, and the other one takes its place. `isDeep`: then both are read once more as a whole. */
type Moving = { to: string; isLast: boolean; isDeep: boolean; caller: Caller; onProgress: OnMoveProgress };

export type Moved =
  | { state: 'copied'; from: string; to: string; changes_left: number }
  | {
      state: 'finished';
      from: string;
      to: string;
      closed_seconds: number;
      tables: Record<string, number>;
      audit_log: { verified: number; broken: number | null };
    };

/** While servers make more than so many changes, it is tried so often to come nearer to them. */
const [fewChanges, rounds] = [200, 4];

/** @throws {ConfigError} */
export async function openSource(config: Config): Promise<MigratableDb> {
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, databaseFile))) {
    throw new ConfigError(
      `There is no database in ${config.dataDir}. Run the command with the settings of the server.`,
    );
  }
  return openDb(config);
}

/**
 * Copies the store of the settings to an empty one of the other engine, while servers use it; called again, what has changed since.
 * The last call closes it, copies the rest, and compares. An interrupted call is repeated, and goes on.
 * @throws {MoveRefused} {@link ConfigError} {@link StoreUnavailable}
 */
export async function moveStore(config: Config, outside: Outside, moving: Moving): Promise<Moved> {
  if (config.cells) {
    throw new MoveRefused(
      'This store is in several parts, each with an audit log of its own, and does not move as a whole. A cell moves by signet cells move; to put all of it into a store in one part, use signet export and signet import. Nothing was changed.',
    );
  }
  const target = settingsOf(config, moving.to);
  const db = await openSource(config);
  try {
    await refuseUnlessMigrated(db);
    await refuseUnfinishedRestore(db);
    const vault = await openVault(config, db);
    const { source: mark, target: incomplete } = await findMarks(db);
    const sentence = whyClosed({ target: incomplete });
    if (sentence) throw new MoveRefused(sentence);
    if (mark?.finished_at) throw new MoveRefused(whyClosed({ source: mark })!);
    if (mark && mark.other !== nameOf(target)) {
      throw new MoveRefused(
        `A move to ${mark.other} has begun. Go on with that, or give it up first: signet move --abandon`,
      );
    }
    if (moving.isLast && !mark?.closed_at) await refuseWhileRunning(db);
    const targetDb = await openDb(target).catch((error: unknown) => refuseAsTarget(error));
    const moved = await move({ ...outside, ...moving, config, target, db, targetDb, mark, vault }).finally(
      targetDb.close,
    );
    if (moved.state === 'finished' && target.databaseUrl === undefined) settleFile(target.dataDir);
    return moved;
  } finally {
    await db.close();
  }
}

/** Without a log beside it, and so that the server, which is not run by root, can open it. */
function settleFile(folder: string): void {
  const file = join(folder, databaseFile);
  closeSqliteFile(file);
  if (process.getuid?.() === 0) giveToOwnerOf(folder, file);
}

type Move = Outside &
  Moving & { config: Config; target: Config; db: OneDb; targetDb: MigratableDb; mark: Mark | undefined; vault: Vault };

async function move(given: Move): Promise<Moved> {
  const { config, target, db, targetDb, vault, onProgress } = given;
  if (targetDb.isCitus) throw new MoveRefused(notToCitus);
  const opened = await openEnds(config, target, targetDb.placeOf);
  const { source, parts } = opened;
  const ends = {
    source,
    target: target.cells
      ? targetInCells(opened, { db: targetDb, placement: await openPlacement(db, vault) })
      : wholeStore(parts[0]),
  };
  try {
    const { tables, isCopied } = await begin(given, ends);
    if (!isCopied) {
      await copyAll(ends, tables, onProgress);
      await checkCopy(ends, tables, onProgress);
      await workIn(parts, (part) => part.analyze());
      await noteTime(source, 'source', 'copied_at', now(given));
    }
    return await (given.isLast ? finish : approach)(given, ends, tables);
  } finally {
    await opened.close();
  }
}

/** So that little is left for the last pass. */
async function approach(
  { config, target, onProgress }: Move,
  ends: Ends,
  tables: readonly MovedTable[],
): Promise<Moved> {
  for (let round = 0; round < rounds && (await countChanges(ends.source)) > fewChanges; round += 1) {
    await copyChanges(ends, tables, false, onProgress);
  }
  const changes_left = await countChanges(ends.source);
  return { state: 'copied', from: nameOf(config), to: nameOf(target), changes_left };
}

/** Marks both stores, and has the source note what changes. Nothing is changed where that is refused. */
async function begin(given: Move, ends: Ends): Promise<{ tables: readonly MovedTable[]; isCopied: boolean }> {
  const { config, target, db, targetDb, mark } = given;
  const migrations = await findMigrations(db);
  if (mark && mark.migrations !== migrations) {
    throw new MoveRefused(
      'Signet was upgraded since the move began. Give it up with signet move --abandon, empty the other database, and begin again. Nothing was changed.',
    );
  }
  const { target: found } = await findMarks(targetDb);
  const isSame = mark !== undefined && found?.move_id === mark.move_id;
  if (!isSame && !(await isUnused(given, ends.target))) {
    throw new MoveRefused(
      `${nameOf(target)} is not empty. A store is moved to an empty database, or goes on to the one where its move began. Nothing was changed.`,
    );
  }
  const isCopied = isSame && mark.copied_at !== null;
  if (target.cells && !isCopied) await prepareToDivide(db, now(given));
  const own = mark ?? { move_id: newId('mv'), began_at: now(given) };
  const both = { move_id: own.move_id, migrations, began_at: own.began_at };
  if (!mark) {
    await makeMoveTable(ends.source, 'store_move_changes');
    await writeMark(ends.source, { ...both, side: 'source', other: nameOf(target) });
  }
  if (!isSame) await writeMark(ends.target.parts[0], { ...both, side: 'target', other: nameOf(config) });
  await migrate(targetDb, now(given));
  const tables = await tablesToMove(config, target);
  if (!isCopied) await ends.source.track(tables);
  return { tables, isCopied };
}

async function tablesToMove(config: Config, target: Config): Promise<readonly MovedTable[]> {
  const onSqlite = [config, target].find(({ databaseUrl }) => databaseUrl === undefined);
  const tables = onSqlite ? planOf(join(onSqlite.dataDir, databaseFile)) : await planOfMigrations();
  return target.cells ? tables.filter(isMovedToCells) : tables;
}

/** Cells can be given their servers before the move, which takes a store that is set up. */
async function isUnused({ target, targetDb }: Move, { parts }: Target): Promise<boolean> {
  if ((await workIn(parts, (part) => part.isEmpty())).every(Boolean)) return true;
  if (!target.cells || !(await isSetUp(targetDb))) return false;
  await refuseUnlessMigrated(targetDb);
  if ((await findRunning(targetDb)).length > 0) return false;
  for (const name of ['users', 'clients', 'audit_log'] as const) {
    const rows = await workIn(parts, (part) => part.count({ name }));
    if (rows.some((one) => one > 0)) return false;
  }
  return true;
}

/** @throws {MoveRefused} */
async function refuseWhileRunning(db: Db): Promise<void> {
  if ((await findRunning(db)).length === 0) return;
  throw new MoveRefused(
    'A server is running on this store. Stop every server of it, then run this again. The store is not closed, and goes on to be used.',
  );
}

async function close({ db, ...given }: Move, { source }: Ends): Promise<void> {
  await recordLosses(db, now(given)); // the others cannot find out, by names of another engine
  await source.transaction(async () => {
    await source.holdChanges();
    await noteTime(source, 'source', 'closed_at', now(given));
  });
  try {
    await refuseWhileRunning(db); // one that has just begun, and read before it was closed that it may
  } catch (error) {
    await noteTime(source, 'source', 'closed_at', null);
    throw error;
  }
}

async function finish(given: Move, ends: Ends, tables: readonly MovedTable[]): Promise<Moved> {
  const { config, target, targetDb, mark, caller, isDeep, onProgress } = given;
  const [from, to] = [nameOf(config), nameOf(target)];
  const closedAt = mark?.closed_at ? mark.closed_at * 1000 : given.clock();
  const { target: found } = await findMarks(targetDb);
  const isOver = found?.finished_at != null; // it was killed before it noted that here
  if (!isOver) {
    if (!mark?.closed_at) await close(given, ends);
    while ((await countChanges(ends.source)) > 0) await copyChanges(ends, tables, true, onProgress);
  }
  const counts = isOver ? {} : await compareStores(ends, tables, isDeep, onProgress);
  if (!isOver) await forgetHeads(given);
  const report = await verifyLog(given);
  const rows = Object.values(counts).reduce((sum, one) => sum + one, 0);
  const event = auditEvent({ action: 'store.moved', ...caller, after: { from, to, rows } }, now(given));
  if (!isOver) {
    await targetDb.change({ run: { finished: mustChange(finishTarget(now(given))), event: event.statement } });
  }
  await dropPlaces(ends.target);
  await noteTime(ends.source, 'source', 'finished_at', now(given));
  const closed_seconds = Math.round((given.clock() - closedAt) / 100) / 10;
  return { state: 'finished', from, to, closed_seconds, tables: counts, audit_log: report };
}

/** A cell that moves to another server takes all tables of its schema there, and these are no part of it. */
async function dropPlaces({ parts: [, ...cells] }: Target): Promise<void> {
  for (const name of ['store_move_places', 'store_move_indexes'] satisfies MoveTable[]) {
    await workIn(cells, (part) => part.run(`drop table if exists ${name}`));
  }
}

/** The logs of the cells begin now: a file that expects more is of an earlier store with cells of these names. */
async function forgetHeads({ config, targetDb: { parts }, log }: Move): Promise<void> {
  const witnesses = openWitnesses(config.auditHeadFile, log);
  for (const { schema } of parts) {
    if (schema === undefined) continue;
    const witness = witnesses.of(schema);
    if ((await witness.known()) === undefined) continue;
    witness.replace({ seq: 0, seal: '', accepted: 0 });
    await witness.keep();
  }
}

/** One that was broken before is moved as it is. */
async function verifyLog({ config, targetDb, clock, log }: Move) {
  const vault = await openVault(config, targetDb);
  const witness = openWitnesses(config.auditHeadFile, log);
  const chains = await workIn(targetDb.parts, (db) =>
    verifyAuditLog({ db, clock, vault, witness: witness.of(db.schema) }),
  );
  const verified = chains.reduce((sum, chain) => sum + chain.verified, 0);
  return { verified, broken: chains.find(({ broken }) => broken)?.broken?.seq ?? null };
}

/** @throws {ConfigError} if the master key of the settings is not that of the store. */
const openVault = (config: Config, db: Db) => {
  const otherKeys = config.otherMasterKey ? [readMasterKey(config.otherMasterKey)] : [];
  return openVaultFor(db, readMasterKey(config.masterKey), otherKeys);
};
