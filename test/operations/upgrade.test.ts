import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import { type MigratableDb, migrate } from '../../src/platform/db/migrate.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { afterTest } from '../support/after-test.ts';
import {
  type Engine,
  type FreshStore,
  freshDatabase,
  freshStore,
  migrations,
  migrationsUpTo,
  onBothEngines,
} from '../support/databases.ts';
import { killInMigration } from '../support/kill-in-migration.ts';
import { plain } from '../support/plain-sql.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { cellCount } from '../support/postgres-server.ts';
import { assertRefused, RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { schemaOf } from '../support/schema-of.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { startSignet } from '../support/signet.ts';
import { problemsOf, type StoreFixture, statementsFile, storesFolder } from '../support/stored-versions.ts';
import { TestUser } from '../support/test-user.ts';
import { codesOf } from '../support/two-factor.ts';

const versions = readdirSync(storesFolder).toSorted();
/** Why a run in cells has none of these. */
const onlyInOnePart = cellCount > 0 && 'the stores of these versions are in one part';
/** Of before the first release, named for the newest migration that they had. */
const unreleased = versions.filter((version) => /^\d{4}$/.test(version));
const names = readdirSync(migrations).map((file) => file.slice(0, -'.sql'.length));

for (const version of versions) {
  onBothEngines(`a store of version ${version} goes on with this one`, async (t, engine) => {
    if (onlyInOnePart) return t.skip(onlyInOnePart);
    const store = await storeOf(t, engine, version);
    await goesOn(t, engine, store);
  });
}

onBothEngines(
  'kill -9 inside of a migration leaves the store as it was, and the next start completes it',
  async (t, engine) => {
    if (onlyInOnePart) return t.skip(onlyInOnePart);
    const random = seededRandom(t);
    const isLong = repeated(1) > 1;
    const version = isLong ? unreleased[0]! : random.pick(unreleased);
    const store = await storeOf(t, engine, version);
    const db = await openStore(store);
    const [rowsBefore, applied] = [await rowsOf(db), await appliedIn(db)];
    const missing = names.filter((name) => !applied.has(name));
    const chosen = isLong ? missing : [random.pick(missing.slice(0, 18)), random.pick(missing.slice(18))];
    for (const name of chosen) {
      await migrate(db, 0, await migrationsUpTo(store.dataDir, (file) => file < name));
      const before = [await schemaOf(db), await rowsOf(db)];
      const killedAfter = await killInMigration(store, random.below(1000) / 999);
      t.diagnostic(`${name}: killed ${killedAfter}`);
      assert.deepEqual([await schemaOf(db), await rowsOf(db)], before, `${name} left something behind`);
    }
    await migrate(db, 0);
    const fresh = await freshDatabase(t, engine);
    assert.deepEqual(await schemaOf(db), await schemaOf(fresh.db));
    assertKept(rowsBefore, await rowsOf(db));
    await db.close();
    await goesOn(t, engine, store);
  },
);

// So that nodes of it may serve beside nodes of this version, or once more if an upgrade is taken back: expand, then contract.
for (const version of versions) {
  const lines = linesOf(version);
  if (lines.length === 0) continue;
  onBothEngines(`the statements of version ${version} run on the tables of this one`, async (t, engine) => {
    const { url, dataDir } = await freshStore(t, engine);
    const other = engine === 'sqlite' ? 'postgres' : 'sqlite';
    const statements = lines.filter((line) => !line.startsWith(`/* ${other} */`));
    assert.ok(statements.length > 300);
    const store = url ?? join(dataDir, databaseFile);
    const needed = await neededColumns(t, engine, store);
    const found = await problemsOf(engine, store, statements);
    const problems = statements.map((sql, place) => [found[place] ?? missingColumn(sql, needed), sql]);
    assert.deepEqual(
      problems.filter(([problem]) => problem !== undefined),
      [],
    );
  });
}

test('what would break nodes of the version before is found: a column that is gone, one that is needed, an index', async (t) => {
  const { url = '' } = await freshStore(t, 'postgres');
  const insert =
    'insert into spent_tokens (token_hash, expires_at) values ($1, $2) on conflict (token_hash) do nothing';
  const alterTable = async (change: string): Promise<string | undefined> => {
    await asAdmin(url, (client) => client.query(`alter table spent_tokens ${change}`));
    const [problem] = await problemsOf('postgres', url, [insert]);
    return problem ?? missingColumn(insert, await neededColumns(t, 'postgres', url));
  };
  assert.equal(await alterTable('add column harmless bigint'), undefined);
  assert.match((await alterTable('add column needed bigint not null')) ?? '', /spent_tokens.needed/);
  assert.match((await alterTable('drop constraint spent_tokens_pkey')) ?? '', /no unique or exclusion constraint/);
  assert.match((await alterTable('drop column expires_at')) ?? '', /expires_at/);
});

/** A copy of the store that this version has left. */
async function storeOf(
  t: TestContext,
  engine: Engine,
  version: string,
): Promise<FreshStore & { fixture: StoreFixture }> {
  const read = (ending: string) => readFileSync(join(storesFolder, version, `${engine}.${ending}`), 'utf8');
  const fixture: StoreFixture = JSON.parse(read('json'));
  const rows = read('sql');
  const store = await freshStore(t, engine, { empty: true });
  if (store.url === undefined) {
    const db = new DatabaseSync(join(store.dataDir, databaseFile), { enableForeignKeyConstraints: false });
    db.exec(`begin; ${rows} commit;`);
    db.close();
  } else {
    const applied = new Set(
      [...rows.matchAll(/^insert into schema_migrations .*? values \('(\S+?)'/gm)].map(([, name]) => name),
    );
    const db = await openStore(store);
    await migrate(db, 0, await migrationsUpTo(store.dataDir, (file) => applied.has(file.slice(0, -'.sql'.length))));
    // The rows name the migrations with their checksums, so these tables are the ones that they were in.
    const tables = (await tablesIn(db)).join(', ');
    await db.close();
    await asAdmin(store.url, (client) =>
      client.query(`set session_replication_role = replica; truncate ${tables}; ${rows}`),
    );
  }
  return { ...store, fixture };
}

const openStore = ({ dataDir, url }: FreshStore): Promise<MigratableDb> =>
  openDb({ dataDir, databaseUrl: url, databaseMayLoseCommits: true });

/** Starts this version on the store, and does what those who used it before would do next. */
async function goesOn(t: TestContext, engine: Engine, { fixture, ...store }: FreshStore & { fixture: StoreFixture }) {
  const { user, disabled, tokens, entitlement, made_at } = fixture;
  const signet = await startSignet(t, { engine, on: { ...store, at: made_at + 3600 } });
  const { verified } = await verifyAuditLog(signet.deps);
  await signet.runJobs();

  const present = new TestUser(signet, user);
  for (const [name, value] of Object.entries(fixture.cookies)) present.browser.cookies.set(name, value);
  assert.equal((await present.browser.get('/v1/me')).json?.user_id, user.user_id, 'the session goes on');
  const elsewhere = present.elsewhere();
  let answer = await elsewhere.signIn();
  if (user.totp_secret !== undefined) {
    assert.equal(answer.location, '/signin/second-factor');
    answer = await elsewhere.giveCode(codesOf(signet, user.totp_secret)());
  }
  assert.deepEqual([answer.status, answer.location], [303, '/account'], answer.text);
  const barred = await new TestUser(signet, { ...user, ...disabled }).signIn();
  assert.notEqual(barred.status, 303, 'a user who was disabled stays so');

  const client = new RegisteredClient(signet, fixture.client);
  const refreshed = tokensOf(await client.refresh(tokens.newest));
  assert.equal((await signet.userinfo(refreshed.access_token)).json?.sub, user.user_id);
  assertRefused(await client.refresh(tokens.revoked), 400, 'invalid_grant');
  assertRefused(await client.refresh(tokens.replaced), 400, 'invalid_grant');
  assert.equal(
    (await client.introspect(refreshed.refresh_token)).json?.active,
    false,
    'a replay from before ends the grant',
  );
  assert.ok((await elsewhere.obtainTokens(client)).access_token);

  if (entitlement) {
    const { json } = await elsewhere.browser.get('/v1/me/entitlements');
    const entitlements = (json?.entitlements ?? []) as Record<string, unknown>[];
    assert.deepEqual(
      entitlements.map(({ product, plan }) => [product, plan]),
      [[entitlement.product, entitlement.plan]],
    );
  }
  await signet.runJobs();
  const after = await verifyAuditLog(signet.deps);
  assert.deepEqual([after.broken, after.unsealed], [undefined, 0]);
  assert.ok(after.verified > verified);
}

type Row = Record<string, unknown>;
type Rows = Record<string, Row[]>;

async function appliedIn(db: MigratableDb): Promise<Set<string>> {
  return new Set((await plain(db).all<{ name: string }>('select name from schema_migrations')).map(({ name }) => name));
}

const tablesIn = async (db: MigratableDb): Promise<string[]> =>
  (
    await plain(db).all<{ name: string }>(
      db.engine === 'sqlite'
        ? `select name from sqlite_master where type = 'table' order by name`
        : `select tablename as name from pg_tables where schemaname = 'public' order by tablename`,
    )
  ).map(({ name }) => name);

async function rowsOf(db: MigratableDb): Promise<Rows> {
  const rows: Rows = {};
  for (const table of await tablesIn(db)) {
    const all = await plain(db).all<Row>(`select * from ${table}`);
    rows[table] = all.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return rows;
}

/** Each row is still there, with what it had in the columns that are still there. */
function assertKept(before: Rows, after: Rows): void {
  for (const [table, rows] of Object.entries(before)) {
    for (const row of rows) {
      const isKept = after[table]?.some((now) =>
        Object.entries(row).every(([column, value]) => !(column in now) || now[column] === value),
      );
      assert.ok(isKept, `${table} has lost ${JSON.stringify(row)}`);
    }
  }
}

function linesOf(version: string): string[] {
  try {
    return readFileSync(join(storesFolder, version, statementsFile), 'utf8')
      .trim()
      .split('\n');
  } catch {
    return []; // from before there were releases
  }
}

/** The columns without which no row of a table can be inserted. */
async function neededColumns(t: TestContext, engine: Engine, store: string): Promise<ReadonlyMap<string, string[]>> {
  const needed = new Map<string, string[]>();
  const add = (table: string, column: string) => needed.set(table, [...(needed.get(table) ?? []), column]);
  if (engine === 'postgres') {
    await asAdmin(store, async (client) => {
      const { rows } = await client.query<{ table_name: string; column_name: string }>(
        `select table_name, column_name from information_schema.columns
          where table_schema = 'public' and is_nullable = 'NO' and column_default is null`,
      );
      for (const { table_name, column_name } of rows) add(table_name, column_name);
    });
    return needed;
  }
  const db = new DatabaseSync(store, { readOnly: true });
  afterTest(t, () => db.close());
  const rows = db
    .prepare(
      `select t.name as "table", c.name as "column" from sqlite_master t, pragma_table_info(t.name) c
        where t.type = 'table' and (c."notnull" or c.pk > 0) and c.dflt_value is null`,
    )
    .all();
  for (const { table, column } of rows) add(String(table), String(column));
  return needed;
}

/** What an insert leaves out. */
function missingColumn(sql: string, needed: ReadonlyMap<string, string[]>): string | undefined {
  for (const [, table = '', columns = ''] of sql.matchAll(/\binsert into (\w+) \(([^)]*)\)/g)) {
    const given = columns.split(',').map((column) => column.trim());
    const missing = needed.get(table)?.find((column) => !given.includes(column));
    if (missing) return `It does not set ${table}.${missing}, which has no default`;
  }
  return undefined;
}
