import { enterSchema } from './cell-cluster.ts';
import { sharedTables } from './cell-copies.ts';
import type { MigratableDb, MigrationSession } from './migrate.ts';

// Each cell is a distributed schema of Citus, and the shared tables are reference tables, which every node has a copy of.

/** Citus passes the whole of what it was sent on to a node, which takes one statement. Each of ours ends its line. */
export const statementsIn = (script: string): string[] => script.split(/;\s*$/m).filter((one) => one.trim() !== '');

const isReplicated = (table: string) =>
  `exists (select 1 from pg_dist_partition where logicalrelid = ${table} and partmethod = 'n' and repmodel = 't')`;

const replicateTable = (name: string): string => `select create_reference_table('${name}')`;

/** Has work define tables, of a cell or of what is in none. Citus hands the definitions on to the nodes that they concern. */
export const defineTables = <T>(
  coordinator: MigratableDb,
  cell: string | undefined,
  work: (session: MigrationSession) => Promise<T>,
): Promise<T> =>
  coordinator.exclusively(async ({ all, exec }) => {
    const isOfCell = cell !== undefined;
    // In a new store they still refer to tables that have no rows there.
    const areReplicated = (await all(`select 1 as one where ${isReplicated(`to_regclass('clients')`)}`)).length > 0;
    const run = async (script: string) => {
      for (const statement of statementsIn(script)) {
        await exec(statement);
        const [, created = ''] = /^create table (\w+)/m.exec(statement) ?? [];
        if (!isOfCell && areReplicated && sharedTables.includes(created)) await exec(replicateTable(created));
      }
    };
    if (isOfCell) await run(`set local citus.enable_schema_based_sharding to on;\n${enterSchema(cell)}`);
    return work({ all, exec: run });
  });

/** A shared table that Citus does not know yet, and that refers to no such table. */
const nextToReplicate = `
  select c.relname as name from pg_class c
   where c.relnamespace = current_schema()::regnamespace and not ${isReplicated('c.oid')}
     and c.relname in (${sharedTables.map((name) => `'${name}'`).join(', ')})
     and not exists (select 1 from pg_constraint k
                      where k.contype = 'f' and k.conrelid = c.oid and k.confrelid <> c.oid and not ${isReplicated('k.confrelid')})
   limit 1`;

/** Has Citus copy the shared tables to all nodes, those to come as well. */
export async function replicateShared(coordinator: MigratableDb): Promise<void> {
  if ((await coordinator.query({ sql: nextToReplicate })).length === 0) return;
  await coordinator.exclusively(async ({ all, exec }) => {
    for (;;) {
      const [next] = await all<{ name: string }>(nextToReplicate);
      if (next === undefined) return;
      await exec(replicateTable(next.name));
    }
  });
}
