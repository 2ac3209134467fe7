import { type Cluster, closeAll, enterSchema } from './cell-cluster.ts';
import { isChangeOfShared, openCopies, refusedForCopies } from './cell-copies.ts';
import { openCellPlaces } from './cell-places.ts';
import type { CellSettings } from './cell-settings.ts';
import { StoreUnavailable } from './engine.ts';
import type { MigratableDb } from './migrate.ts';
import { openPostgres, type PostgresOptions } from './postgres.ts';

/** Servers by themselves, which PostgreSQL's logical replication joins (decision 68). */
export function openReplicated(
  first: MigratableDb,
  { cells, servers: urls }: CellSettings,
  options: PostgresOptions,
): Cluster {
  const others = Object.entries(urls).filter(([name]) => name !== '');
  const copied = new Map(others.map(([name, url]) => [name, openPostgres(url, options)]));
  const servers = new Map([['', first], ...copied]);
  const copies = openCopies(first, copied);
  const places = openCellPlaces(first, cells, [...servers.keys()]);
  return {
    isCitus: false,
    servers,
    added: async () => (await copies.added()).map(([name]) => name),
    read: places.read,
    placeOf: places.serverOf,
    follow: places.follow,
    async commitFirst(steps) {
      if (copied.size === 0 || !steps.some(({ sql }) => isChangeOfShared(sql))) return first.commit(steps);
      const away = await copies.away();
      if (away.length > 0) throw new StoreUnavailable(refusedForCopies(away));
      const committed = await first.commit(steps);
      await copies.haveFollowed();
      return committed;
    },
    define: (server, cell, work) =>
      server.exclusively(async (session) => {
        if (cell !== undefined) await session.exec(enterSchema(cell));
        return work(session);
      }),
    keep: places.keep,
    close: () => closeAll(servers),
  };
}
