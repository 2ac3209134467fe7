import pg from 'pg';
import { CellsRefused } from './cell-refused.ts';
import { onServer, rowsOf } from './cell-servers.ts';

const address = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i;

/** @throws {CellsRefused} */
function partsOf(node: string): [host: string, port: number] {
  const [, ipv6, name = ipv6, port] = address.exec(node) ?? [];
  if (name !== undefined) return [name, Number(port)];
  throw new CellsRefused(`A node of Citus is named by its address, such as 10.0.0.6:5432. Nothing was changed.`);
}

/** At the coordinator, with what Citus has to say if it refuses. @throws {CellsRefused} */
const asCoordinator = (url: string, work: (client: pg.Client) => Promise<void>): Promise<void> =>
  onServer(url, async (client) => {
    try {
      await work(client);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      const hint = error.hint === undefined ? '' : ` ${error.hint}`;
      throw new CellsRefused(`Citus refuses it: ${error.message}.${hint}`);
    }
  });

/** Has the node in the cluster, with a copy of the shared tables. @param coordinator its URL. */
export const addNode = (coordinator: string, node: string): Promise<void> => {
  const place = partsOf(node);
  return asCoordinator(coordinator, async (client) => {
    await client.query('select citus_add_node($1::text, $2::int)', place);
    await client.query('select replicate_reference_tables()');
  });
};

/** Moves a cell while it is in use. One that Citus does not know yet becomes a distributed schema first, and waits meanwhile. */
export const moveSchema = (coordinator: string, cell: string, node: string): Promise<void> => {
  const place = partsOf(node);
  return asCoordinator(coordinator, async (client) => {
    const known = await rowsOf(client, 'select 1 from pg_dist_schema where schemaid = $1::regnamespace', [cell]);
    if (known.length === 0) await client.query('select citus_schema_distribute($1::regnamespace)', [cell]);
    const there = await rowsOf(
      client,
      `select 1 from pg_dist_shard join pg_dist_placement using (shardid) join pg_dist_node using (groupid)
        where logicalrelid = $1::regclass and nodename = $2 and nodeport = $3`,
      [`${cell}.users`, ...place],
    );
    if (there.length === 0)
      await client.query('select citus_schema_move($1::regnamespace, $2::text, $3::int)', [cell, ...place]);
  });
};
