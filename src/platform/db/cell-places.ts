import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseError } from 'pg';
import { ConfigError } from '../errors.ts';
import type { Db, OneDb, Part } from './db.ts';
import { StoreMisconfigured, StoreUnavailable } from './engine.ts';
import { flag, integer, type RowOf, row, text } from './rows.ts';
import { type Sql, sql } from './sql.ts';

const CellRow = row('cells', { name: text, place: integer, cells: integer, server: text });
export type CellRow = RowOf<typeof CellRow>;

export const listCellRows = (shared: Part): Promise<CellRow[]> =>
  shared.all(CellRow, sql`select ${CellRow.columns} from cells order by place limit 64`);

/** @throws {ConfigError} for a store that has cells, where the settings have none: it would seem to be empty. */
export async function refuseUnknownCells(db: Db): Promise<void> {
  if (db.parts.length > 1) return;
  const cells = await listCellRows(db.shared);
  if (cells.length === 0) return;
  const names = cells.map(({ name }) => name).join(' ');
  throw new ConfigError(
    `This store is in several parts, and SIGNET_CELLS is not set. Set it to: ${names}. Nothing was changed.`,
  );
}

const Found = row('users', { found: flag });

/** @throws {StoreMisconfigured} for a store in one part, whose users are in no cell. */
async function refuseUsersElsewhere(first: OneDb): Promise<void> {
  const isUsed = sql`select case when exists (select 1 from users) then 1 else 0 end as found`;
  if ((await first.get(Found, isUsed))?.found !== true) return;
  throw new StoreMisconfigured(
    'This store is in one part, and its users are in no cell. Start it without SIGNET_CELLS. To divide its users, run signet move into a new store, with SIGNET_MOVE_TO_CELLS. Nothing was changed.',
  );
}

const Count = row('pg_class', { users: integer });

/** About how many users a cell has, as PostgreSQL knows by its statistics. */
export const aboutHowManyUsers = async (part: Part, cell: string, { isCitus = false }): Promise<number> => {
  const users = `${cell}.users`;
  const about = isCitus
    ? sql`select coalesce(sum(pg_stat_get_live_tuples(to_regclass(shard_name(logicalrelid, shardid)))), 0) as users
            from pg_dist_shard where logicalrelid = to_regclass(${users})`
    : sql`select greatest(reltuples, 0)::bigint as users from pg_class where oid = to_regclass(${users})`;
  return (await part.get(Count, about))?.users ?? 0;
};

/** If it is where it was. */
export const replaceServer = ({ name, server }: CellRow, to: string): Sql =>
  sql`update cells set server = ${to} where name = ${name} and server = ${server}`;

export type CellPlaces = ReturnType<typeof openCellPlaces>;

/** For which a question waits while its cell is closed. */
const longestWaitMs = 1_500;
const pollMs = 50;

/**
 * Which server has which cell: the first has all of them, until they move.
 * @param first the part in which it is kept, asked without regard to places.
 * @param servers the names of those that this process knows.
 */
export function openCellPlaces(first: OneDb, cells: readonly string[], servers: readonly string[]) {
  let serverByCell = new Map(cells.map((name) => [name, '']));
  let reading: Promise<void> | undefined;

  /** @throws {StoreMisconfigured} if the settings are those of another store. */
  function use(rows: readonly CellRow[]): void {
    for (const [place, name] of cells.entries()) {
      const kept = rows.find((one) => one.name === name);
      if (kept?.place !== place || kept.cells !== cells.length) throw new StoreMisconfigured(otherCells(rows));
      if (!servers.includes(kept.server)) {
        throw new StoreMisconfigured(
          `The cell ${name} is on the server ${kept.server}, which SIGNET_CELL_SERVERS does not name.`,
        );
      }
    }
    serverByCell = new Map(rows.map(({ name, server }) => [name, server]));
  }

  async function read(): Promise<void> {
    const exists = async (table: string) =>
      (await first.query({ sql: `select 1 as one where to_regclass('${table}') is not null` })).length > 0;
    const rows = (await exists('cells')) ? await listCellRows(first) : [];
    if (rows.length > 0) use(rows);
    else if (await exists('users')) await refuseUsersElsewhere(first);
  }

  const readOnce = (): Promise<void> => {
    reading ??= read().finally(() => (reading = undefined));
    return reading;
  };

  return {
    read: readOnce,
    serverOf: (name: string): string => serverByCell.get(name)!,

    /** Keeps the cells of the settings, where the store has none yet. */
    async keep(): Promise<void> {
      const rows = cells.map((name, place) => ({ name, place, cells: cells.length, server: '' }));
      await first.change({
        run: { rows: rows.map((one) => sql`insert into cells ${CellRow.values(one)} on conflict do nothing`) },
      });
      await readOnce();
    },

    /**
     * Asks the server of a cell. While the cell is closed for its move, nothing is changed by who asks: it is asked again until it is
     * there, for a while.
     * @throws {StoreUnavailable}
     */
    async follow<Server, Answer>(server: () => Server, ask: (server: Server) => Promise<Answer>): Promise<Answer> {
      for (let waited = 0; ; waited += pollMs) {
        const asked = server();
        try {
          return await ask(asked);
        } catch (error) {
          if (!hasNoSuchTable(error)) throw error;
          await readOnce();
          if (server() !== asked) continue;
          if (waited >= longestWaitMs) {
            throw new StoreUnavailable('A part of the store is being moved to another server.', { cause: error });
          }
          await sleep(pollMs);
        }
      }
    },
  };
}

const hasNoSuchTable = (error: unknown): boolean =>
  error instanceof StoreMisconfigured && (error.cause as DatabaseError | undefined)?.code === '42P01';

const otherCells = (rows: readonly CellRow[]): string =>
  `SIGNET_CELLS names other cells than this store has, or in another order. It has to be: ${rows.map(({ name }) => name).join(' ')}. Nothing was changed.`;
