import { resolve } from 'node:path';
import type { Config } from '../platform/config.ts';
import { readCells } from '../platform/db/cell-settings.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { serversOf, withoutPassword } from '../platform/db/postgres-address.ts';

type MoveSetting = 'SIGNET_MOVE_TO' | 'SIGNET_MOVE_TO_FILE' | 'SIGNET_MOVE_TO_CELLS' | 'SIGNET_MOVE_TO_CELL_SERVERS';

/** Where `signet move` leads, as it is written: {@link settingsOf} reads it. */
export const readMoveTarget = (read: (name: MoveSetting) => string | undefined) => ({
  moveTo: read('SIGNET_MOVE_TO'),
  moveToFile: read('SIGNET_MOVE_TO_FILE'),
  moveToCells: read('SIGNET_MOVE_TO_CELLS'),
  moveToCellServers: read('SIGNET_MOVE_TO_CELL_SERVERS'),
});

const isPostgres = (to: string) => /^postgres(ql)?:/.test(to);

/** What a store is called where others can read it. */
export function nameOf({ databaseUrl, dataDir, cells }: Pick<Config, 'databaseUrl' | 'dataDir' | 'cells'>): string {
  if (databaseUrl === undefined) return dataDir;
  const address = withoutPassword(databaseUrl);
  return cells === undefined ? address : `${address} (SIGNET_CELLS=${cells.cells.join(' ')})`;
}

/** The settings of the other store. @throws {ConfigError} {@link MoveRefused} */
export function settingsOf<Given extends Config>(config: Given, to: string): Given {
  const target = isPostgres(to) ? { databaseUrl: to } : { databaseUrl: undefined, dataDir: resolve(to) };
  const { moveToCells, moveToCellServers } = config;
  if (target.databaseUrl !== undefined) asTarget(() => serversOf(to));
  if (moveToCells !== undefined || moveToCellServers !== undefined) {
    if (target.databaseUrl === undefined) {
      throw new MoveRefused(
        'SIGNET_MOVE_TO_CELLS is set, and a store in cells is on PostgreSQL: --to postgres://user@host/database.',
      );
    }
    return { ...config, ...target, cells: asTarget(() => readCells(to, moveToCells, moveToCellServers)) };
  }
  if ((config.databaseUrl === undefined) === (target.databaseUrl === undefined)) {
    throw new MoveRefused(
      config.databaseUrl === undefined
        ? 'The store is SQLite, and moves to PostgreSQL: --to postgres://user@host/database. To put it into another folder, use signet backup and signet restore.'
        : 'The store is PostgreSQL, and moves to SQLite: --to a folder. To put it on another server, use pg_dump or a standby; to divide it among cells, set SIGNET_MOVE_TO_CELLS.',
    );
  }
  return { ...config, ...target };
}

function asTarget<Read>(read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    return refuseAsTarget(error);
  }
}

/** What is said of the settings of a store is meant of the other one here. */
export function refuseAsTarget(error: unknown): never {
  if (error instanceof Error) {
    error.message = error.message
      .replaceAll('SIGNET_DATABASE_URL', 'The address to move to')
      .replaceAll('SIGNET_CELL', 'SIGNET_MOVE_TO_CELL');
  }
  throw error;
}
