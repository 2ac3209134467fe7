import { publication, subscriptionOf } from '../platform/db/cell-copies.ts';
import { type CellMoveProgress, moveCell } from '../platform/db/cell-move.ts';
import { aboutHowManyUsers, type CellRow, listCellRows, replaceServer } from '../platform/db/cell-places.ts';
import { CellsRefused } from '../platform/db/cell-refused.ts';
import { followShared, followsShared, onServer, tablesToCopy } from '../platform/db/cell-servers.ts';
import type { CellSettings } from '../platform/db/cell-settings.ts';
import { addNode, moveSchema } from '../platform/db/citus-nodes.ts';
import { StoreUnavailable, storeReason } from '../platform/db/db.ts';
import { type MigratableDb, migrate, refuseUnlessMigrated } from '../platform/db/migrate.ts';
import { refuseMoved } from '../platform/db/move/marks.ts';
import { openDb } from '../platform/db/open.ts';
import { atServer, withoutPassword } from '../platform/db/postgres-address.ts';
import type { Config } from './config.ts';

export type ListedCell = CellRow & {
  /** Without its password. */
  address: string;
  /** About as many as there are, as PostgreSQL knows by its statistics; null: the server does not answer. */
  users: number | null;
  problem: string | null;
};

const bucketCount = 4096;
/** The buckets of a cell, from 0 to 4095. */
export const bucketsOf = ({ place, cells }: Pick<ListedCell, 'place' | 'cells'>): [first: number, last: number] => [
  (bucketCount / cells) * place,
  (bucketCount / cells) * (place + 1) - 1,
];

/** @throws {CellsRefused} */
async function withStore<Result>(
  config: Config,
  work: (db: MigratableDb, settings: CellSettings) => Promise<Result>,
): Promise<Result> {
  const { cells } = config;
  if (cells === undefined) throw new CellsRefused('This store is in one part: SIGNET_CELLS is not set.');
  const db = await openDb(config);
  try {
    await refuseUnlessMigrated(db);
    await refuseMoved(db);
    return await work(db, cells);
  } finally {
    await db.close();
  }
}

/** @throws {CellsRefused} for a server that the settings do not name. */
function urlOf({ servers }: CellSettings, server: string): string {
  const url = servers[server];
  if (url !== undefined) return url;
  const known = Object.keys(servers).filter(Boolean);
  throw new CellsRefused(
    `SIGNET_CELL_SERVERS does not name ${server}. ${known.length === 0 ? 'It names none' : `It names ${known.join(', ')}`}; "" is the first one. Nothing was changed.`,
  );
}

/** On Citus, servers are named by their addresses. */
const addressOf = (db: MigratableDb, settings: CellSettings, server: string): string =>
  db.isCitus && server !== '' ? atServer(urlOf(settings, ''), server) : urlOf(settings, server);

export const listCells = (config: Config): Promise<ListedCell[]> =>
  withStore(config, async (db, settings) => {
    const cells = await listCellRows(db.shared);
    return Promise.all(
      cells.map(async (row) => {
        const cell = { ...row, server: db.placeOf!(row.name) };
        const address = withoutPassword(addressOf(db, settings, cell.server));
        try {
          const users = await aboutHowManyUsers(db.parts[1 + cell.place]!, cell.name, db);
          return { ...cell, address, users, problem: null };
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
          return { ...cell, address, users: null, problem: storeReason(error) };
        }
      }),
    );
  });

/**
 * Gives a further server the shared tables, and has it follow them, so that cells can be moved to it.
 * @throws {CellsRefused}
 */
export const addServer = (config: Config, server: string, now: number): Promise<void> =>
  withStore(config, async (db, settings) => {
    if (db.isCitus) return addNode(urlOf(settings, ''), server);
    const url = urlOf(settings, server);
    if (server === '') throw new CellsRefused('The first server has the shared tables already.');
    await migrate(db.copyAt!(server), now, undefined);
    await followShared(urlOf(settings, ''), { name: server, url });
    await onServer(url, async (client) => {
      while ((await tablesToCopy(client, subscriptionOf(server))).length > 0) await pause();
    });
  });

const pause = () => new Promise((resolve) => setTimeout(resolve, 100));

/** `rows` and `closed_ms`: not on Citus, which does not tell. */
export type MovedCell = { cell: string; from: string; to: string; rows?: number; closed_ms?: number };

/**
 * Moves a cell to another server while it is in use. What was interrupted is continued by the next call.
 * @throws {CellsRefused}
 */
export const moveCellTo = (
  config: Config,
  name: string,
  to: string,
  outside: { now: () => number; monotonic: () => number; onProgress: CellMoveProgress },
): Promise<MovedCell> =>
  withStore(config, async (db, settings) => {
    const cell = (await listCellRows(db.shared)).find((one) => one.name === name);
    if (cell === undefined) throw new CellsRefused(`This store has no cell ${name}. Nothing was changed.`);
    const target = addressOf(db, settings, to);
    const place = db.placeOf!(name);
    if (place === to) throw new CellsRefused(`${name} is on that server already. Nothing was changed.`);
    const source = addressOf(db, settings, place);
    const ends = { cell: name, from: withoutPassword(source), to: withoutPassword(target) };
    if (db.isCitus) {
      await moveSchema(urlOf(settings, ''), name, to);
      return ends;
    }
    if (to !== '') await refuseUnlessFollowing(target, to);
    await migrate(db.cellAt!(name, to), outside.now());
    const switchOver = async () => {
      await db.shared.run(replaceServer(cell, to));
    };
    const { onProgress, monotonic } = outside;
    const moved = await moveCell(name, { from: source, to: target }, { switchOver, onProgress, monotonic });
    return { ...ends, rows: moved.rows, closed_ms: Math.round(moved.closedMs) };
  });

async function refuseUnlessFollowing(url: string, server: string): Promise<void> {
  if (await followsShared(server, url)) return;
  throw new CellsRefused(
    `${server} has no copy of the shared tables (${publication}). Run first: signet cells add ${server}. Nothing was changed.`,
  );
}
