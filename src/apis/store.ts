import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { choice, flag, id, integer, json, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { type Sql, sql } from '../platform/db/sql.ts';
import type { ApiId, EventId } from '../platform/ids.ts';
import { Type } from '../platform/schema.ts';
import { type Api, type ApiScope, comparableIdentifier, type TokenStatus, tokenStatuses } from './api.ts';
import { maxApis, maxScopes, type WantedScope } from './api-rules.ts';

/** The tables `apis` and `api_scopes`. */
const ApiRow = row('apis', {
  api_id: id<ApiId>(),
  identifier: text,
  name: text,
  description: nullable(text),
  token_status: id<TokenStatus>(),
  created_at: integer,
});

const ApiWithScope = row('apis a left join api_scopes s', {
  ...ApiRow.fields,
  scope: nullable(text),
  descriptions: nullable(json(Type.Record(Type.String(), Type.String()))),
  scope_created_at: nullable(integer),
});

const NewApi = row('apis', { ...ApiRow.fields, identifier_key: text, event_id: id<EventId>() });
const Sentences = json(Type.Record(Type.String(), Type.String()));
const NewScope = row('api_scopes', { name: text, api_id: id<ApiId>(), descriptions: Sentences, created_at: integer });

const withScopes = sql`select ${ApiRow.columnsOf('a')}, s.name as scope, s.descriptions, s.created_at as scope_created_at
          from apis a left join api_scopes s on s.api_id = a.api_id and s.retired_at is null
         where a.retired_at is null`;

/** All that are not retired, by name. */
export const readApis = async (db: Db): Promise<Api[]> =>
  grouped(await db.shared.all(ApiWithScope, sql`${withScopes} order by a.name, a.api_id, s.created_at, s.name`));

/** @returns undefined also for one that is retired. */
export async function readApi(db: Db, api_id: string): Promise<Api | undefined> {
  const rows = await db.shared.all(
    ApiWithScope,
    sql`${withScopes} and a.api_id = ${api_id} order by s.created_at, s.name`,
  );
  return grouped(rows)[0];
}

/** Of rows that each have one scope. */
function grouped(rows: readonly RowOf<typeof ApiWithScope>[]): Api[] {
  const found = new Map<ApiId, Api & { scopes: ApiScope[] }>();
  for (const { scope, descriptions, scope_created_at: created_at, ...api } of rows) {
    const known = found.get(api.api_id) ?? { ...api, scopes: [] };
    found.set(api.api_id, known);
    if (scope !== null && descriptions !== null && created_at !== null)
      known.scopes.push({ name: scope, descriptions, created_at });
  }
  return [...found.values()];
}

/** Changes nothing if there are as many as there may be. */
export const insertApi = (api: RowOf<typeof NewApi>): Sql =>
  sql`insert into apis (api_id, identifier, identifier_key, name, description, token_status, event_id, created_at)
      select ${api.api_id}, ${api.identifier}, ${api.identifier_key}, ${api.name}, ${api.description}, ${api.token_status}, ${api.event_id},
             cast(${api.created_at} as bigint)
       where (select count(*) from apis where retired_at is null) < ${maxApis}`;

export const insertScope = (scope: RowOf<typeof NewScope>): Sql =>
  sql`insert into api_scopes ${NewScope.values(scope)}`;

/** Changes nothing if the API is retired. @param event_id of the event that records the change. */
export const touchApi = (
  api_id: ApiId,
  event_id: EventId,
  to: Partial<Pick<Api, 'name' | 'description' | 'token_status'>> = {},
): Sql =>
  sql`update apis set ${NewApi.set({ ...to, event_id })} where api_id = ${api_id} and retired_at is null
         and (select count(*) from api_scopes s where s.api_id = apis.api_id and s.retired_at is null) <= ${maxScopes}`;

export const updateSentences = (api_id: ApiId, { name, descriptions }: WantedScope): Sql =>
  sql`update api_scopes set ${NewScope.set({ descriptions })}
       where name = ${name} and api_id = ${api_id} and retired_at is null`;

/** Changes nothing for the last one: of two that are retired at once, one stays. */
export const retireScopeRow = (api_id: ApiId, name: string, now: number): Sql =>
  sql`update api_scopes set retired_at = ${now} where name = ${name} and api_id = ${api_id} and retired_at is null
         and (select count(*) from api_scopes other where other.api_id = ${api_id} and other.retired_at is null) > 1`;

export const retireApiRow = (api_id: ApiId, now: number): Sql =>
  sql`update apis set retired_at = ${now} where api_id = ${api_id} and retired_at is null`;

export const isIdentifierOfAny = (db: Db, identifier_key: string) =>
  db.shared.holds(sql`exists (select 1 from apis where identifier_key = ${identifier_key})`);

const OwnerOfScope = row('api_scopes join apis', { name: text, is_active: flag });

/** Whose scope of that name there is or was. */
export const ownerOfScope = (db: Db, name: string) =>
  db.shared.get(
    OwnerOfScope,
    sql`select a.name, case when a.retired_at is null and s.retired_at is null then 1 else 0 end as is_active
          from api_scopes s join apis a on a.api_id = s.api_id where s.name = ${name}`,
  );

/** Retired ones too, since no other API may ever have their scopes. */
export const exportedApis = exportedTable('apis', {
  row: row('apis', {
    ...ApiRow.fields,
    token_status: nullable(choice(...tokenStatuses)), // files of earlier versions have none
    retired_at: nullable(integer),
  }),
  lists: {
    scopes: {
      table: 'api_scopes',
      row: row('api_scopes', {
        ...NewScope.pick('name', 'descriptions', 'created_at').fields,
        retired_at: nullable(integer),
      }),
    },
  },
  follows: {
    columns: { identifier_key: text, event_id: text, token_status: text },
    values: ({ identifier, token_status }, { event_id }) => ({
      identifier_key: comparableIdentifier(identifier),
      event_id,
      token_status: token_status ?? 'none',
    }),
  },
});
