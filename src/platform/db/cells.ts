import { type Bucket, bucketNumber, bucketOf, isIdOfUser } from '../ids.ts';
import { createCellTexts } from './cell-texts.ts';
import { createDb } from './db.ts';
import type { Engine, Step } from './engine.ts';
import type { MigratableDb, MigratableEngine } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import type { Statement } from './sql.ts';

/** A schema of a PostgreSQL database, with the tables of a share of the users. */
export type Cell = { readonly name: string; readonly url: string };

const bucketCount = 4096;

/**
 * A store in several parts (decision 68): the shared tables are in the schema `public` of a first database, the rows of users and
 * what belongs to no user yet in cells, each with an equal share of the buckets. A statement goes to the server that has its
 * cell, by connections of that server's own, so that users of the others do not notice when one is lost or slow.
 * @param home the URL of the first database.
 * @param cells a power of two of them, in the order of their buckets.
 */
export function openCells(
  home: string,
  cells: readonly Cell[],
  settings?: Parameters<typeof openPostgres>[1],
): MigratableDb {
  const servers = new Map<string, MigratableDb>();
  const serverOf = (url: string) => servers.getOrInsertComputed(url, () => openPostgres(url, settings));
  const first = serverOf(home);
  const bucketsOfCell = bucketCount / cells.length;
  const cellOf = (bucket: Bucket): number => Math.floor(bucketNumber(bucket) / bucketsOfCell);

  const common: Omit<Engine, 'query' | 'commit'> = {
    engine: 'postgres',
    run_id: first.run_id,
    room: first.room, // of the server that is asked most, at worst all is for one
    isRunning: (other) => first.isRunning(other),
    requestArrived: () => undefined,
    close: async () => void (await Promise.all([...servers.values()].map((server) => server.close()))),
  };

  function openPart(server: MigratableDb, schema?: string, cell?: number): MigratableDb {
    const textOf = createCellTexts(schema);
    const isOfAnother = (param: unknown) =>
      typeof param === 'string' && isIdOfUser(param) && cellOf(bucketOf(param)) !== cell;
    const placed = <S extends Statement>(statement: S): S => {
      const { params = [], isIncidental, key } = statement;
      const { sql, isAboutUsers } = textOf(statement.sql);
      if (isAboutUsers && params.some(isOfAnother)) {
        throw new TypeError(`A statement for ${schema} is about a user of another cell: ${statement.sql}`);
      }
      const { isRequirement, mustChange, mayConflict } = statement as Partial<Step>;
      return { sql, params, isIncidental, key, isRequirement, mustChange, mayConflict } as Statement as S;
    };
    return createDb<MigratableEngine>({
      ...common,
      query: async (statement) => server.query(placed(statement)),
      commit: async (steps) => server.commit(steps.map(placed)),
      schema,
      exclusively: (work) =>
        server.exclusively(async (session) => {
          if (schema) await session.exec(`create schema if not exists ${schema}; set local search_path to ${schema}`);
          return work(session);
        }),
    });
  }

  const shared = openPart(first);
  const inCells = cells.map(({ name, url }, cell) => openPart(serverOf(url), name, cell));
  const places = {
    of: (id: string) => inCells[cellOf(bucketOf(id))]!,
    in: (bucket: Bucket) => inCells[cellOf(bucket)]!,
    shared,
  };
  const parts = [shared, ...inCells];
  for (const part of parts) Object.assign(part, places);
  const copies = [...servers.values()].filter((server) => server !== first).map((server) => openPart(server));
  return { ...shared, parts, copies };
}
