import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseError } from 'pg';
import type { Cell } from './cell-settings.ts';
import type { OneDb, Part } from './db.ts';
import { StoreMisconfigured, StoreUnavailable } from './engine.ts';
import { integer, type RowOf, row, text } from './rows.ts';
import { type Sql, sql } from './sql.ts';

const CellRow = row('cells', { name: text, place: integer, cells: integer, server: text });
export type CellRow = RowOf<typeof CellRow>;

export const listCellRows = (shared: Part): Promise<CellRow[]> =>
  shared.all(CellRow, sql`select ${CellRow.columns} from cells order by place limit 64`);

const Count = row('pg_class', { users: integer });

/** About how many users a cell has, as PostgreSQL knows by its statistics. */
export const aboutHowManyUsers = async (part: Part, cell: string): Promise<number> => {
  const about = sql`select greatest(reltuples, 0)::bigint as users from pg_class where oid = to_regclass(${`${cell}.users`})`;
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
 * Which server has which cell: as the settings say until the store has kept it, and then as the store says, since cells move.
 * @param shared the part in which it is kept.
 * @param servers the names of those that this process knows.
 */
export function openCellPlaces(shared: OneDb, cells: readonly Cell[], servers: readonly string[]) {
  let serverByCell = new Map(cells.map(({ name, server }) => [name, server]));
  let reading: Promise<void> | undefined;

  /** @throws {StoreMisconfigured} if the settings are those of another store. */
  function use(rows: readonly CellRow[]): void {
    for (const [place, { name }] of cells.entries()) {
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
    const [table] = await shared.query({ sql: `select 1 as one where to_regclass('cells') is not null` });
    const rows = table ? await listCellRows(shared) : [];
    if (rows.length > 0) use(rows);
  }

  const readOnce = (): Promise<void> => {
    reading ??= read().finally(() => (reading = undefined));
    return reading;
  };

  return {
    read: readOnce,
    serverOf: (name: string): string => serverByCell.get(name)!,

    /** Keeps what the settings say, where the store has nothing yet. */
    async keep(): Promise<void> {
      const rows = cells.map(({ name, server }, place) => ({ name, place, cells: cells.length, server }));
      await shared.change({
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
