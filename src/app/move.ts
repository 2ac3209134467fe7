import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { verifyAuditLog } from '../audit/chain.ts';
import { openWitnesses } from '../audit/witness.ts';
import { type Clock, now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { type MigratableDb, migrate, refuseUnlessMigrated } from '../platform/db/migrate.ts';
import { copyChanges, countChanges } from '../platform/db/move/changes.ts';
import { compareStores } from '../platform/db/move/compare.ts';
import { type Ends, type MovedTable, makeMoveTable, type OnMoveProgress } from '../platform/db/move/ends.ts';
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
import { planOf } from '../platform/db/move/plan.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { databaseFile, openDb } from '../platform/db/open.ts';
import { workIn } from '../platform/db/parts.ts';
import { serversOf, withoutPassword } from '../platform/db/postgres-address.ts';
import { closeSqliteFile } from '../platform/db/sqlite-backup.ts';
import { ConfigError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { readMasterKey } from '../platform/master-key.ts';
import { findRunning, recordLosses } from '../platform/processes.ts';
import { openVaultFor } from '../platform/vault.ts';
import { giveToOwnerOf } from './backup.ts';
import type { Config } from './config.ts';
import { refuseUnfinishedRestore } from './open-deps.ts';

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

const isPostgres = (to: string) => /^postgres(ql)?:/.test(to);

/** What a store is called where others can read it. */
export const nameOf = ({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string =>
  databaseUrl === undefined ? dataDir : withoutPassword(databaseUrl);

/** The settings of the other store. @throws {ConfigError} {@link MoveRefused} */
export function settingsOf(config: Config, to: string): Config {
  const target = isPostgres(to) ? { databaseUrl: to } : { databaseUrl: undefined, dataDir: resolve(to) };
  if ((config.databaseUrl === undefined) === (target.databaseUrl === undefined)) {
    throw new MoveRefused(
      config.databaseUrl === undefined
        ? 'The store is SQLite, and moves to PostgreSQL: --to postgres://user@host/database. To put it into another folder, use signet backup and signet restore.'
        : 'The store is PostgreSQL, and moves to SQLite: --to a folder. To put it on another server, use pg_dump or a standby.',
    );
  }
  try {
    if (target.databaseUrl !== undefined) serversOf(target.databaseUrl);
  } catch (error) {
    refuseAsTarget(error);
  }
  return { ...config, ...target };
}

/** What is said of the address in the settings is meant of the other one here. */
function refuseAsTarget(error: unknown): never {
  if (error instanceof Error) error.message = error.message.replaceAll('SIGNET_DATABASE_URL', 'The address to move to');
  throw error;
}

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
    throw new MoveRefused('This store is in several parts: its cells move by signet cells move. Nothing was changed.');
  }
  const target = settingsOf(config, moving.to);
  const db = await openSource(config);
  try {
    await refuseUnlessMigrated(db);
    await refuseUnfinishedRestore(db);
    await openVault(config, db);
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
    const moved = await move({ ...outside, ...moving, config, target, db, targetDb, mark }).finally(targetDb.close);
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
  Moving & { config: Config; target: Config; db: Db; targetDb: MigratableDb; mark: Mark | undefined };

async function move(given: Move): Promise<Moved> {
  const { config, target, onProgress } = given;
  const ends = await openEnds(config, target);
  try {
    const { tables, isCopied } = await begin(given, ends);
    if (!isCopied) {
      await copyAll(ends, tables, onProgress);
      await checkCopy(ends, tables, onProgress);
      await ends.target.analyze();
      await noteTime(ends.source, 'source', 'copied_at', now(given));
    }
    return await (given.isLast ? finish : approach)(given, ends, tables);
  } finally {
    await Promise.all([ends.source.close(), ends.target.close()]);
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
async function begin(given: Move, ends: Ends): Promise<{ tables: MovedTable[]; isCopied: boolean }> {
  const { config, target, db, targetDb, mark } = given;
  const migrations = await findMigrations(db);
  if (mark && mark.migrations !== migrations) {
    throw new MoveRefused(
      'Signet was upgraded since the move began. Give it up with signet move --abandon, empty the other database, and begin again. Nothing was changed.',
    );
  }
  const { target: found } = await findMarks(targetDb);
  const isSame = mark !== undefined && found?.move_id === mark.move_id;
  if (!isSame && !(await ends.target.isEmpty())) {
    throw new MoveRefused(
      `${nameOf(target)} is not empty. A store is moved to an empty database, or goes on to the one where its move began. Nothing was changed.`,
    );
  }
  const own = mark ?? { move_id: newId('mv'), began_at: now(given) };
  const both = { move_id: own.move_id, migrations, began_at: own.began_at };
  if (!mark) {
    await makeMoveTable(ends.source, 'store_move_changes');
    await writeMark(ends.source, { ...both, side: 'source', other: nameOf(target) });
  }
  if (!isSame) await writeMark(ends.target, { ...both, side: 'target', other: nameOf(config) });
  await migrate(targetDb, now(given));
  const tables = planOf(join((config.databaseUrl === undefined ? config : target).dataDir, databaseFile));
  const isCopied = isSame && mark.copied_at !== null;
  if (!isCopied) await ends.source.track(tables);
  return { tables, isCopied };
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
  const report = await verifyLog(given);
  const rows = Object.values(counts).reduce((sum, one) => sum + one, 0);
  const event = auditEvent({ action: 'store.moved', ...caller, after: { from, to, rows } }, now(given));
  if (!isOver) {
    await targetDb.change({ run: { finished: mustChange(finishTarget(now(given))), event: event.statement } });
  }
  await noteTime(ends.source, 'source', 'finished_at', now(given));
  const closed_seconds = Math.round((given.clock() - closedAt) / 100) / 10;
  return { state: 'finished', from, to, closed_seconds, tables: counts, audit_log: report };
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
