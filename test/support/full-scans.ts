import type { Db, OneDb } from '../../src/platform/db/db.ts';
import { combinedForm, typesOf } from '../../src/platform/db/postgres-combiner.ts';
import type { Statement } from '../../src/platform/db/sql.ts';
import { plain } from './plain-sql.ts';

/** Tables that do not grow with users, clients, grants, sessions, events, mails or deliveries. */
const smallTables = new Set([
  'signing_keys',
  'retired_signing_keys',
  'webhooks', // these, the credentials and their streams: as many as administrators have made
  'service_credentials',
  'signal_streams', // one for each credential
  'apis', // these two: as many as an operator has APIs, and no more than a limit
  'api_scopes',
  'groups', // no more than a limit
  'group_changes', // a row for each that was renamed or deleted in the last minutes
  'attributes', // no more than a limit
  'approved_hosts',
  'providers', // no more than a limit
  'settings', // a row for each that can be changed
  'service_secrets',
  'issuing_runs', // a row for each process
  'server_heartbeat',
  'schema_migrations',
  'master_key_check',
  'audit_heads',
  'grant_endings', // a row for each mass revocation of the last hour
]);

/** Indexes that may be read whole, or sorted: they have few rows, or a statement finds few rows by them. */
const fewRows = new Set([
  'apis_by_identifier',
  'approved_hosts_pkey',
  'providers_issuer_key',
  'signing_keys_one_active',
  'signing_keys_one_next',
  'users_administrators',
  'users_deleted',
  'users_with_missing_terms', // none, but for the minutes after an upgrade
  'audit_log_unsealed', // the events of the last second
  'clients_with_missing_terms', // none, but for the minutes after an upgrade
  'clients_with_pending_change',
  'clients_with_backchannel_logout', // each is looked up among the deliveries that are due
  'webhooks_pkey', // as many as administrators have made
  'signal_streams_of_credential', // one for each credential
  'grants_of_user', // the active ones of a user, at most a hundred for each client
  'grants_of_logout_batch', // one slice
  'sessions_active_of_user', // `maxSessions`
  'passkeys_of_user',
  'groups_of_member', // `maxGroupsOfUser`
  'groups_by_name',
  'attributes_by_name', // `maxAttributes`
  'identities_of_user',
  'clients_of_owner', // as many as administrators have approved
  'client_secrets_of_client',
  'client_failures_of_client',
  'unauthenticated_events_of_target', // one event for an hour and kind
]);

/** @returns the statements that are made from now on, each once, as they are added. */
export function watchStatements(db: Db): ReadonlyMap<string, Statement> {
  const statements = new Map<string, Statement>();
  for (const part of db.parts) watchPart(part, statements);
  return statements;
}

function watchPart(db: OneDb, statements: Map<string, Statement>): void {
  const { query, commit } = db;
  const note = ({ sql, params, key }: Statement) => {
    if (/^\s*(select|with|insert|update|delete)\b/.test(sql)) statements.set(sql, { sql, params, key });
  };
  const watched: Pick<OneDb, 'query' | 'commit'> = {
    query(statement) {
      note(statement);
      return query(statement);
    },
    commit(steps) {
      for (const step of steps) note(step);
      return commit(steps);
    },
  };
  Object.assign(db, watched);
}

/**
 * How the engine would run each statement in a large store. The first part has all tables.
 * @returns those that read a table that grows from end to end, or sort any number of its rows.
 */
export const fullScansOf = ({ parts: [db] }: Db, statements: readonly Statement[]): Promise<string[]> =>
  db!.engine === 'sqlite' ? fullScansInSqlite(db!, statements) : fullScansInPostgres(db!, statements);

type PlanStep = { id: number; parent: number; detail: string };

/** Without statistics, as it always runs here, SQLite takes each table for a large one. */
async function fullScansInSqlite(db: OneDb, statements: readonly Statement[]): Promise<string[]> {
  const schema = await plain(db).all<{ name: string; tbl_name: string }>('select name, tbl_name from sqlite_master');
  const tableByName = new Map(schema.map(({ name, tbl_name }) => [name, tbl_name]));
  const isSmall = (name: string) => fewRows.has(name) || smallTables.has(tableByName.get(name) ?? '');
  const problems: string[] = [];
  for (const { sql, params } of statements) {
    const plan = await plain(db).all<PlanStep>(`explain query plan ${sql}`, params);
    const levelOf = ({ parent }: PlanStep): number => {
      const above = plan.find(({ id }) => id === parent);
      return above && /^(?:MULTI-INDEX OR|INDEX \d+)$/.test(above.detail) ? levelOf(above) : parent;
    };
    const sorted = new Set(
      plan.filter(({ detail }) => /^USE TEMP B-TREE FOR (?!LAST)/.test(detail)).map(({ parent }) => parent),
    );
    for (const step of plan) {
      const [, way, name = '', index] =
        /^(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(step.detail) ?? [];
      const table = tableByName.get(aliasesOf(sql).get(name) ?? '');
      if (table === undefined || smallTables.has(table) || (index && isSmall(index))) continue;
      const isSorted = sorted.has(levelOf(step));
      const isUnique = index?.startsWith('sqlite_autoindex_') ?? true;
      const isPage = index !== undefined && !isSorted && / limit [$\d]/.test(sql);
      if (way === 'SCAN' && !isPage) problems.push(`${step.detail}: ${sql}`);
      if (way === 'SEARCH' && isSorted && !isUnique) problems.push(`${step.detail}, sorted: ${sql}`);
    }
  }
  return problems;
}

/** @returns the selection by which SQLite finds the rows of each foreign key when the row that they refer to is deleted. */
export async function foreignKeyReads(db: OneDb): Promise<Statement[]> {
  const keys = await plain(db).all<{ name: string; column: string }>(
    `select t.name, k."from" as "column" from sqlite_master t, pragma_foreign_key_list(t.name) k where t.type = 'table'`,
  );
  return keys.map(({ name, column }) => ({ sql: `select 1 from ${name} where ${column} = $1`, params: ['x'] }));
}

/** The tables of a statement by their names in it. A subquery has none; its own reads are steps of the plan. */
const aliasesOf = (sql: string): Map<string, string> =>
  new Map(
    [...sql.matchAll(/(?:\b(?:from|join|update|into)|,)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/g)].flatMap(
      ([, table = '', alias = '']): [string, string][] => [
        [alias, table],
        [table, table],
      ],
    ),
  );

type PlanNode = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Subplan Name'?: string;
  Plans?: PlanNode[];
};

/** The settings of our connections forbid what would be quicker while a table is small, so these are the plans for a large one. */
async function fullScansInPostgres(db: OneDb, statements: readonly Statement[]): Promise<string[]> {
  const asSent = statements.flatMap((statement) => [statement, ...combinedOf(statement)]);
  const problems: string[] = [];
  for (const { sql, params } of asSent) {
    const row = await plain(db).get<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`explain (format json) ${sql}`, params);
    problems.push(...fullScansBelow(row!['QUERY PLAN'][0]!.Plan, false).map((scan) => `${scan}: ${sql}`));
  }
  return problems;
}

/** The statement as it is sent for several requests at once. */
export function combinedOf({ sql, params = [], key }: Statement): Statement[] {
  const types = typesOf(params);
  if (key === undefined || types === undefined) return [];
  return [
    {
      sql: combinedForm(sql, types).text,
      params: params.map((param) => JSON.stringify([param]).replace(/^\[(.*)\]$/, '{$1}')),
    },
  ];
}

/** @param isPage whether no more rows are read than a `limit` asks for. */
function fullScansBelow(node: PlanNode, isPage: boolean): string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition, Plans = [] } = node;
  // The rows of a bitmap are found by the indexes below it.
  const isFull = (table ?? index) !== undefined && condition === undefined && type !== 'Bitmap Heap Scan';
  const isBounded = smallTables.has(table ?? '') || (index !== undefined && (isPage || fewRows.has(index)));
  const isPageBelow = type === 'Limit' || (isPage && !/^Sort$|Aggregate|Bitmap/.test(type));
  // A subplan is hashed only while its table is small.
  const { Plans: _, ...own } = node;
  const isHashed = (child: PlanNode) => JSON.stringify(own).includes(`hashed ${child['Subplan Name']}`);
  const below = Plans.flatMap((child) => (isHashed(child) ? [] : fullScansBelow(child, isPageBelow)));
  return isFull && type.endsWith('Scan') && !isBounded ? [`${type} on ${table ?? index}`, ...below] : below;
}
