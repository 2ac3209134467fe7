import { type Bucket, bucketNumber, bucketOf, isIdOfUser } from '../ids.ts';
import type { Cluster } from './cell-cluster.ts';
import { partNear } from './cell-near.ts';
import { openReplicated } from './cell-replicated.ts';
import type { CellSettings } from './cell-settings.ts';
import { createCellTexts } from './cell-texts.ts';
import { createDb } from './db.ts';
import { type Engine, type Step, StoreUnavailable } from './engine.ts';
import type { MigratableDb, MigratableEngine } from './migrate.ts';
import { openPostgres, type PostgresOptions } from './postgres.ts';
import { type Statement, sql } from './sql.ts';

const bucketCount = 4096;

/**
 * A store in several parts (decision 68): the shared tables are in the schema `public` of a first database, the rows of users and
 * what belongs to no user yet in cells, each with an equal share of the buckets. A statement goes to the server that has its
 * cell, by connections of that server's own, so that users of the others do not notice when one is lost or slow.
 * @throws {StoreUnavailable} if it cannot be found out where the cells are.
 */
export async function openCells(settings: CellSettings, options: PostgresOptions = {}): Promise<MigratableDb> {
  const cluster = await openCluster(settings, options);
  const { cells } = settings;
  const serverBy = (name: string) => cluster.servers.get(name)!;
  const first = serverBy('');
  const bucketsOfCell = bucketCount / cells.length;
  const cellOf = (bucket: Bucket): number => Math.floor(bucketNumber(bucket) / bucketsOfCell);

  const common: Omit<Engine, 'query' | 'commit'> = {
    engine: 'postgres',
    run_id: first.run_id,
    room: first.room, // of one server: at worst all is for users who are there
    isRunning: (other) => first.isRunning(other),
    requestArrived: () => undefined,
    close: cluster.close,
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
      schema === undefined ? ask(server()) : cluster.follow(server, ask);
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
        return schema === undefined && server() === first ? cluster.commitFirst(all) : asked((db) => db.commit(all));
      },
      schema,
      server,
      exclusively: (work) => cluster.define(server(), schema, work),
    });
  }

  /** Of shared tables, while their first server is away. */
  async function askCopies(statement: Statement, reason: StoreUnavailable) {
    for (const server of cluster.servers.values()) {
      if (server === first) continue;
      try {
        return await server.query(statement);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
    throw reason;
  }

  const home = openPart(() => first);
  const ofShared = createCellTexts(undefined, 'strict');
  const shared = createDb<MigratableEngine>({
    ...home,
    query: async (statement) => home.query(ofShared(statement.sql) && statement),
    commit: async (steps) => home.commit(steps.map((step) => ofShared(step.sql) && step)),
  });
  const inCells = cells.map((name, cell) => openPart(() => serverBy(cluster.placeOf(name)), name, cell));
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
    await cluster.read();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return {
    ...shared,
    parts,
    isCitus: cluster.isCitus,
    placeOf: cluster.placeOf,
    keepPlaces: cluster.keep,
    copies: async () => (await cluster.added()).map((name) => openPart(() => serverBy(name))),
    copyAt: (server) => openPart(() => serverBy(server)),
    cellAt: (name, server) => openPart(() => serverBy(server), name, cells.indexOf(name)),
  };
}

/**
 * As the first server says, these are nodes of Citus, or servers by themselves, which PostgreSQL's logical replication joins.
 * @throws {StoreUnavailable}
 */
async function openCluster(settings: CellSettings, options: PostgresOptions): Promise<Cluster> {
  const first = openPostgres(settings.servers['']!, options);
  try {
    const isCitus = await first.holds(sql`exists (select 1 from pg_extension where extname = 'citus')`);
    if (!isCitus) return openReplicated(first, settings, options);
  } catch (error) {
    await first.close();
    throw error;
  }
  await first.close();
  return (await import('./cell-citus.ts')).openCitus(settings, options);
}
