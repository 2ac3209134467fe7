import { type Bucket, bucketNumber, bucketOf, isIdOfUser } from '../ids.ts';
import { isChangeOfShared, openCopies, refusedForCopies } from './cell-copies.ts';
import { partNear } from './cell-near.ts';
import { type CellPlaces, openCellPlaces } from './cell-places.ts';
import type { CellSettings } from './cell-settings.ts';
import { createCellTexts } from './cell-texts.ts';
import { createDb } from './db.ts';
import { type Committed, type Engine, type Step, StoreUnavailable } from './engine.ts';
import type { MigratableDb, MigratableEngine } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import type { Statement } from './sql.ts';

const bucketCount = 4096;

/**
 * A store in several parts (decision 68): the shared tables are in the schema `public` of a first database, the rows of users and
 * what belongs to no user yet in cells, each with an equal share of the buckets. A statement goes to the server that has its
 * cell, by connections of that server's own, so that users of the others do not notice when one is lost or slow.
 * @throws {StoreUnavailable} if it cannot be found out where the cells are.
 */
export async function openCells(
  { cells, servers: urls }: CellSettings,
  settings?: Parameters<typeof openPostgres>[1],
): Promise<MigratableDb> {
  const servers = new Map(Object.entries(urls).map(([name, url]) => [name, openPostgres(url, settings)]));
  const first = servers.get('')!;
  const bucketsOfCell = bucketCount / cells.length;
  const cellOf = (bucket: Bucket): number => Math.floor(bucketNumber(bucket) / bucketsOfCell);

  const common: Omit<Engine, 'query' | 'commit'> = {
    engine: 'postgres',
    run_id: first.run_id,
    room: first.room, // of one server: at worst all is for users who are there
    isRunning: (other) => first.isRunning(other),
    requestArrived: () => undefined,
    close: async () => void (await Promise.all([...servers.values()].map((server) => server.close()))),
  };

  function openPart(server: () => MigratableDb, schema?: string, cell?: number): MigratableDb {
    const textOf = createCellTexts(schema);
    const isOfUser = (param: unknown) => typeof param === 'string' && isIdOfUser(param);
    /** What a person has typed may look like an id, so one of its own is enough. */
    const isOfAnother = (params: readonly unknown[]) => {
      const ids = params.filter(isOfUser) as string[];
      return ids.length > 0 && ids.every((id) => cellOf(bucketOf(id)) !== cell);
    };
    const placed = ({ sql, params, isIncidental, key }: Statement): Statement => ({
      ...{ sql: textOf(sql).sql, params, isIncidental, key },
    });
    const placedStep = (step: Step): Step => {
      const { params = [], isRequirement, mustChange, mayConflict } = step;
      // A list begins after an id of any cell, and a requirement compares with one; what is changed is of this cell.
      if (!isRequirement && textOf(step.sql).isAboutUsers && isOfAnother(params)) {
        throw new TypeError(`A change in ${schema} is about a user of another cell: ${step.sql}`);
      }
      return { ...placed(step), isRequirement, mustChange, mayConflict } as Step;
    };
    const asked = <Answer>(ask: (server: MigratableDb) => Promise<Answer>): Promise<Answer> =>
      schema === undefined ? ask(server()) : places.follow(server, ask);
    return createDb<MigratableEngine>({
      ...common,
      query: async (statement) => {
        const one = placed(statement);
        try {
          return await asked((db) => db.query(one));
        } catch (error) {
          if (schema !== undefined || !(error instanceof StoreUnavailable) || !textOf(statement.sql).isOfShared)
            throw error;
          return askCopies(one, error);
        }
      },
      commit: async (steps) => {
        const all = steps.map(placedStep);
        const isShared = schema === undefined && copied.size > 0 && steps.some(({ sql }) => isChangeOfShared(sql));
        return isShared ? changeShared(all) : asked((db) => db.commit(all));
      },
      schema,
      server,
      exclusively: (work) =>
        server().exclusively(async (session) => {
          if (schema) await session.exec(`create schema if not exists ${schema}; set local search_path to ${schema}`);
          return work(session);
        }),
    });
  }

  async function changeShared(steps: readonly Step[]): Promise<Committed> {
    const away = await copies.away();
    if (away.length > 0) throw new StoreUnavailable(refusedForCopies(away));
    const committed = await first.commit(steps);
    await copies.haveFollowed();
    return committed;
  }

  /** Of shared tables, while their first server is away. */
  async function askCopies(statement: Statement, reason: StoreUnavailable) {
    for (const server of copied.values()) {
      try {
        return await server.query(statement);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
    throw reason;
  }

  const copied = new Map([...servers].filter(([name]) => name !== ''));
  const copies = openCopies(first, copied);
  const home = openPart(() => first);
  const ofShared = createCellTexts(undefined, 'strict');
  const shared = createDb<MigratableEngine>({
    ...home,
    query: async (statement) => home.query(ofShared(statement.sql) && statement),
    commit: async (steps) => home.commit(steps.map((step) => ofShared(step.sql) && step)),
  });
  const places: CellPlaces = openCellPlaces(home, cells, Object.keys(urls));
  const inCells = cells.map((name, cell) => openPart(() => servers.get(places.serverOf(name))!, name, cell));
  const parts = [home, ...inCells];
  const near = inCells.map((_, cell) => partNear(common, inCells, cell));
  const ofPlaces = {
    near: (key: string) => near[cellOf(bucketOf(key))]!,
    of: (id: string) => inCells[cellOf(bucketOf(id))]!,
    in: (bucket: Bucket) => inCells[cellOf(bucket)]!,
    shared,
  };
  for (const part of [shared, ...parts]) Object.assign(part, ofPlaces);
  try {
    await places.read();
  } catch (error) {
    await common.close();
    throw error;
  }
  return {
    ...shared,
    parts,
    keepPlaces: places.keep,
    copies: async () => (await copies.added()).map(([name]) => openPart(() => servers.get(name)!)),
    copyAt: (server) => openPart(() => servers.get(server)!),
    cellAt: (name, server) => openPart(() => servers.get(server)!, name, cells.indexOf(name)),
  };
}
