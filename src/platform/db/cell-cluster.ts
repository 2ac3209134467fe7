import type { Committed, MigrationSession, Step } from './engine.ts';
import type { MigratableDb } from './migrate.ts';

/** The servers of a store in cells: which of them has a cell, and how all come to have the same shared tables. */
export type Cluster = {
  /** Whether it is Citus that distributes, and not PostgreSQL's logical replication. */
  readonly isCitus: boolean;
  /** By name. The first, `''`, is where shared tables are changed, and has what is in no cell; the others have copies. */
  readonly servers: ReadonlyMap<string, MigratableDb>;
  /** The names of those to which definitions of shared tables do not come by themselves. */
  added(): Promise<string[]>;
  /** Reads where the cells are. @throws {StoreUnavailable} also if the settings are those of another store. */
  read(): Promise<void>;
  /** The name of the server that has a cell. */
  placeOf(cell: string): string;
  /** Asks the server of a cell, also while the cell moves. */
  follow<Answer>(server: () => MigratableDb, ask: (server: MigratableDb) => Promise<Answer>): Promise<Answer>;
  /** A change by the first server. One of shared tables is confirmed when all have it. @throws {StoreUnavailable} while one is away. */
  commitFirst(steps: readonly Step[]): Promise<Committed>;
  /** Has work define the tables of a server, or of a cell on it. */
  define<T>(server: MigratableDb, cell: string | undefined, work: DefiningWork<T>): Promise<T>;
  /** To be called once the tables are there. */
  keep(): Promise<void>;
  close(): Promise<void>;
};
type DefiningWork<T> = (session: MigrationSession) => Promise<T>;

/** Until the end of the transaction, names of tables are those of the cell. */
export const enterSchema = (cell: string): string =>
  `create schema if not exists ${cell};\n    set local search_path to ${cell};`;

export const closeAll = async (servers: ReadonlyMap<string, MigratableDb>): Promise<void> =>
  void (await Promise.all([...servers.values()].map((server) => server.close())));
