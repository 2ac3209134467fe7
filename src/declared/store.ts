import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { flag, integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { type Sql, sql } from '../platform/db/sql.ts';

const Declared = row('declared_resources', {
  kind: text,
  resource_key: text,
  resource_id: text,
  /** Whether apply made it: what was here before is never deleted by it. */
  made_by_apply: flag,
  declared_at: integer,
});
export type Declared = RowOf<typeof Declared>;

export const listDeclared = (db: Db) =>
  db.shared.all(Declared, sql`select ${Declared.columns} from declared_resources order by kind, resource_key`);

export const rememberDeclared = (declared: Declared): Sql[] => [
  forgetDeclared(declared),
  sql`insert into declared_resources ${Declared.values(declared)}`,
];

export const forgetDeclared = ({ kind, resource_key }: Pick<Declared, 'kind' | 'resource_key'>): Sql =>
  sql`delete from declared_resources where kind = ${kind} and resource_key = ${resource_key}`;

export const exportedDeclared = exportedTable('declared_resources', { row: Declared });
