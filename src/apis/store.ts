import type { Db } from '../platform/db/db.ts';
import { id, integer, json, nullable, row, text } from '../platform/db/rows.ts';
import { sql } from '../platform/db/sql.ts';
import type { ApiId } from '../platform/ids.ts';
import { Type } from '../platform/schema.ts';
import type { Api, ApiScope } from './api.ts';

/** The tables `apis` and `api_scopes`. */
const ApiRow = row('apis', {
  api_id: id<ApiId>(),
  identifier: text,
  name: text,
  description: nullable(text),
  created_at: integer,
});

const ApiWithScope = row('apis a left join api_scopes s', {
  ...ApiRow.fields,
  scope: nullable(text),
  descriptions: nullable(json(Type.Record(Type.String(), Type.String()))),
  scope_created_at: nullable(integer),
});

/** All that are not retired, by name. */
export async function readApis(db: Db): Promise<Api[]> {
  const rows = await db.all(
    ApiWithScope,
    sql`select ${ApiRow.columnsOf('a')}, s.name as scope, s.descriptions, s.created_at as scope_created_at
          from apis a left join api_scopes s on s.api_id = a.api_id and s.retired_at is null
         where a.retired_at is null order by a.name, a.api_id, s.created_at, s.name`,
  );
  const found = new Map<ApiId, Api & { scopes: ApiScope[] }>();
  for (const { scope, descriptions, scope_created_at: created_at, ...api } of rows) {
    const known = found.get(api.api_id) ?? { ...api, scopes: [] };
    found.set(api.api_id, known);
    if (scope !== null && descriptions !== null && created_at !== null)
      known.scopes.push({ name: scope, descriptions, created_at });
  }
  return [...found.values()];
}
