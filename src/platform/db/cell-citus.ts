import { type Cluster, closeAll } from './cell-cluster.ts';
import { isChangeOfShared, refusedForCopies } from './cell-copies.ts';
import { openCellPlaces } from './cell-places.ts';
import type { CellSettings } from './cell-settings.ts';
import { defineTables, replicateShared } from './citus-tables.ts';
import { StoreMisconfigured, StoreUnavailable } from './engine.ts';
import { openPostgres, type PostgresOptions } from './postgres.ts';
import { atServer } from './postgres-address.ts';
import { integer, row, text } from './rows.ts';
import { oneOf, raw, sql } from './sql.ts';

const Node = row('pg_dist_node', { node: text, group_id: integer });
const Placement = row('pg_dist_placement', { cell: text, node: text });
const Group = row('pg_dist_local_group', { group_id: integer });

/** For which what Citus has said about places is believed. Meanwhile a node passes on what has moved. */
const freshMs = 1_000;

const isPrimary = raw(`node.noderole = 'primary' and node.isactive`);
const address = raw(
  `case when node.nodename like '%:%' then '[' || node.nodename || ']' else node.nodename end || ':' || node.nodeport`,
);

/**
 * A store in cells on Citus (decision 69). Definitions and changes of shared tables go to its coordinator, and what is about users to the
 * node that has their cell, which is found in the metadata of Citus.
 * @throws {StoreUnavailable}
 */
export async function openCitus(settings: CellSettings, options: PostgresOptions): Promise<Cluster> {
  const { cells, servers: urls } = settings;
  const home = urls['']!;
  const open = (url: string) => openPostgres(url, { ...options, relays: true });
  const coordinator = open(home);
  const servers = new Map([['', coordinator]]);
  const settled = openCellPlaces(coordinator, cells, ['']);
  let nodeByCell = new Map<string, string>();
  let isFresh = false;
  let isClosed = false;

  async function read(): Promise<void> {
    const [nodes, places] = await Promise.all([
      coordinator.all(
        Node,
        sql`select ${address} as node, groupid as group_id from pg_dist_node node where ${isPrimary}`,
      ),
      // A node whose metadata is out of date is not asked: the coordinator passes on what is for it.
      coordinator.all(
        Placement,
        sql`select schema.nspname as cell, ${address} as node
              from pg_namespace schema
              join pg_class c on c.relnamespace = schema.oid and c.relname = 'users'
              join pg_dist_shard shard on shard.logicalrelid = c.oid
              join pg_dist_placement placement on placement.shardid = shard.shardid
              join pg_dist_node node on node.groupid = placement.groupid
             where schema.nspname in ${oneOf(cells)} and node.groupid <> 0 and node.metadatasynced and ${isPrimary}`,
      ),
    ]);
    if (nodes.length > 0 && !nodes.some(({ group_id }) => group_id === 0))
      throw new StoreMisconfigured(unknownCoordinator);
    if (isClosed) return;
    const workers = nodes.flatMap(({ node, group_id }) => (group_id === 0 ? [] : [node]));
    for (const node of workers) if (!servers.has(node)) servers.set(node, open(atServer(home, node)));
    nodeByCell = new Map(places.map(({ cell, node }) => [cell, node]));
    for (const [node, server] of servers) {
      if (node === '' || workers.includes(node)) continue;
      servers.delete(node);
      void server.close();
    }
  }

  /** Behind the back of who asks. */
  function lookAgain(): void {
    if (isFresh) return;
    isFresh = true;
    setTimeout(() => (isFresh = false), freshMs).unref();
    read().catch(() => undefined); // the next look may succeed; until then places are as they were
  }

  async function awayOf(): Promise<string[]> {
    const asked = [...servers].map(async ([node, server]) => {
      try {
        await server.query({ sql: 'select 1 as one' });
        return [];
      } catch (error) {
        if (error instanceof StoreUnavailable) return [node || 'the coordinator'];
        throw error;
      }
    });
    return (await Promise.all(asked)).flat();
  }

  return {
    isCitus: true,
    servers,
    added: async () => [],
    async read() {
      if (Object.keys(urls).length > 1) throw new StoreMisconfigured(knowsItsNodes);
      const group = await coordinator.get(Group, sql`select groupid as group_id from pg_dist_local_group`);
      if (group?.group_id !== 0) throw new StoreMisconfigured(notCoordinator);
      await settled.read();
      await read();
    },
    placeOf(cell) {
      const node = nodeByCell.get(cell) ?? '';
      return servers.has(node) ? node : '';
    },
    follow(server, ask) {
      lookAgain();
      return ask(server());
    },
    async commitFirst(steps) {
      if (!steps.some(({ sql }) => isChangeOfShared(sql))) return coordinator.commit(steps);
      await read();
      const away = await awayOf();
      if (away.length > 0) throw new StoreUnavailable(refusedForCopies(away));
      return coordinator.commit(steps);
    },
    define: (_, cell, work) => defineTables(coordinator, cell, work),
    async keep() {
      await settled.keep();
      await replicateShared(coordinator);
      await read();
    },
    close: () => {
      isClosed = true;
      return closeAll(servers);
    },
  };
}

const knowsItsNodes =
  'SIGNET_DATABASE_URL leads to Citus, which knows its nodes itself. Remove SIGNET_CELL_SERVERS; a node is added with: signet cells add host:port. Nothing was changed.';
const notCoordinator =
  'SIGNET_DATABASE_URL leads to a worker of Citus. It has to lead to the coordinator. Nothing was changed.';
const unknownCoordinator =
  "The coordinator of Citus is not among its nodes, so it would have no copy of the tables that all parts need. Run on it once, with its address as the other nodes reach it: select citus_set_coordinator_host('10.0.0.5', 5432); Nothing was changed.";
