import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { type MigratableDb, migrate } from '../../src/platform/db/migrate.ts';
import { openDb } from '../../src/platform/db/open.ts';
import { type Bucket, newSuffix, newUserId } from '../../src/platform/ids.ts';
import { afterTest } from '../support/after-test.ts';
import { newUserIn } from '../support/buckets.ts';
import { type FreshStore, freshStore, migrations, migrationsUpTo } from '../support/databases.ts';
import { killInMigration } from '../support/kill-in-migration.ts';
import { plain } from '../support/plain-sql.ts';
import { cellsAt } from '../support/postgres-server.ts';
import { tokensOf } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { schemaOf } from '../support/schema-of.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import { startSignet } from '../support/signet.ts';
import { clockStart } from '../support/store-template.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const count = 8;
const kills = repeated(6);

async function openCells(t: TestContext, { dataDir, url = '' }: FreshStore, cells = count): Promise<MigratableDb> {
  const db = await openDb({ dataDir, databaseUrl: url, databaseMayLoseCommits: true, cells: cellsAt(url, cells) });
  afterTest(t, () => db.close());
  return db;
}

/** Where an upgrade is killed that goes on where the one before was. @param progress how many migrations each part has. */
function nextPlace(random: Random, progress: number[], of: number): { part: number; before: number } | undefined {
  const from = progress.findIndex((one) => one < of);
  if (from === -1) return undefined;
  const part = from + random.below(Math.min(3, progress.length - from));
  const before = random.below(of - progress[part]!);
  progress.fill(of, 0, part);
  progress[part]! += before;
  return { part, before };
}

const ownNames = readdirSync(migrations)
  .map((file) => file.slice(0, -'.sql'.length))
  .sort();
const appliedIn = async (part: MigratableDb): Promise<string[]> =>
  (await plain(part).all<{ name: string }>('select name from schema_migrations')).map(({ name }) => name).sort();

test('kill -9 inside of a migration of eight cells leaves each of them as it was before one, and the next start completes all', async (t) => {
  const random = seededRandom(t);
  const pending = ownNames.slice(-10);
  const store = await freshStore(t, 'postgres', { empty: true });
  const upTo = (of: FreshStore, migrated: number) =>
    migrationsUpTo(of.dataDir, (file) => !pending.slice(migrated).includes(file.slice(0, -'.sql'.length)));

  // What one and the other part look like after each of them.
  const other = await freshStore(t, 'postgres', { empty: true });
  const uninterrupted = await openCells(t, other, 2);
  const after: { first: string[]; cell: string[] }[] = [];
  for (let migrated = 0; migrated <= pending.length; migrated += 1) {
    await migrate(uninterrupted, 0, await upTo(other, migrated));
    after.push({ first: await schemaOf(uninterrupted), cell: await schemaOf(uninterrupted, 'c0') });
  }

  const db = await openCells(t, store);
  await migrate(db, 0, await upTo(store, 0));
  const users = Array.from({ length: 40 }, () => newUserId(newSuffix().slice(0, 2) as Bucket));
  const insert = `insert into users (user_id, email, email_key, role, created_at, updated_at) values ($1, $1, $1, 'user', 1, 1)`;
  for (const user_id of users) await plain(db.of(user_id)).run(insert, [user_id]);
  const assertWhole = async (progress: readonly number[]) => {
    for (const [place, part] of db.parts.entries()) {
      const migrated = progress[place]!;
      const named = part.schema ?? 'the shared tables';
      assert.deepEqual(await appliedIn(part), ownNames.slice(0, ownNames.length - pending.length + migrated), named);
      const { first, cell } = after[migrated]!;
      assert.deepEqual(await schemaOf(db, part.schema), place === 0 ? first : cell, named);
    }
    const kept = await plain(db).all<{ user_id: string }>('select user_id from users');
    assert.deepEqual(kept.map(({ user_id }) => user_id).sort(), users.toSorted());
  };

  const progress = db.parts.map(() => 0);
  await assertWhole(progress);
  const killed = { ...store, cells: cellsAt(store.url!, count) };
  for (let kill = 0; kill < kills; kill += 1) {
    const place = nextPlace(random, progress, pending.length);
    if (place === undefined) break;
    const how = await killInMigration(killed, random.below(1000) / 999, place);
    t.diagnostic(`part ${place.part}, migration ${progress[place.part]! + 1}: killed ${how}`);
    await assertWhole(progress);
  }

  const env = { SIGNET_CELLS: db.parts.flatMap(({ schema }) => schema ?? []).join(' ') };
  const signet = await startSignet(t, { engine: 'postgres', env, on: { ...store, at: clockStart / 1000 } });
  await assertWhole(progress.fill(pending.length));
  await signet.signedInUser();
});

/** Of a version to come: a column with values, a table of the cells that leads to another one, and the shared tables. */
const toCome: Readonly<Record<string, string>> = {
  '9001-column': `alter table users add column of_next text;
    update users set of_next = user_id;`,
  '9002-table': `create table next_things (thing_id text primary key, user_id text not null references users (user_id) on delete cascade);
    insert into next_things select user_id, user_id from users;`,
  '9003-shared': `alter table clients add column of_next text;
    create index clients_of_next on clients (of_next);
    update clients set of_next = client_id;`,
};

const columnsOf: Readonly<Record<string, readonly string[]>> = {
  '9001-column': ['users.of_next'],
  '9002-table': ['next_things.thing_id', 'next_things.user_id'],
  '9003-shared': ['clients.of_next'],
};

test('a node of the version before goes on while an upgrade of eight cells is killed again and again', async (t) => {
  const random = seededRandom(t);
  const env = { SIGNET_RATE_LIMITS: 'off' };
  const signet = await startSignet(t, { engine: 'postgres', cells: count, env });
  const { databaseUrl: url = '', dataDir } = signet.deps.config;
  const folder = await migrationsUpTo(dataDir, () => true);
  const added = Object.keys(toCome);
  for (const [name, script] of Object.entries(toCome)) await writeFile(new URL(`${name}.sql`, folder), `${script}\n`);
  const client = await signet.registerClient();
  const people: { user: TestUser; refresh_token: string; rounds: number }[] = [];
  for (const part of signet.deps.db.parts.slice(1)) {
    const user = await newUserIn(signet, part);
    await user.signIn();
    const { refresh_token } = await user.obtainTokens(client, { scope: 'openid offline_access' });
    people.push({ user, refresh_token, rounds: 0 });
  }
  let isOver = false;
  const using = Promise.all(
    people.map(async (one) => {
      while (!isOver) {
        one.refresh_token = tokensOf(await client.refresh(one.refresh_token)).refresh_token;
        const { status, text } = await one.user.browser.get('/v1/me');
        assert.equal(status, 200, text);
        one.rounds += 1;
      }
    }),
  );
  using.catch(() => undefined); // awaited below

  const db = await openCells(t, { url, dataDir });
  const ask = (statement: string) => plain(db.parts[0]!).all(statement);
  const assertWhole = async (progress: readonly number[]) => {
    for (const [place, part] of db.parts.entries()) {
      const done = added.slice(0, progress[place]);
      const { schema = 'public' } = part;
      assert.deepEqual(await appliedIn(part), [...ownNames, ...done], schema);
      const made = await ask(
        `select table_name || '.' || column_name as name from information_schema.columns
          where table_schema = '${schema}' and (column_name = 'of_next' or table_name = 'next_things') order by name`,
      );
      assert.deepEqual(
        made,
        done
          .flatMap((name) => columnsOf[name]!)
          .toSorted()
          .map((name) => ({ name })),
        schema,
      );
      const missing = [
        `select user_id from ${schema}.users where of_next is null`,
        `select user_id from ${schema}.users where user_id not in (select user_id from ${schema}.next_things)`,
        `select client_id from ${schema}.clients where of_next is null`,
      ];
      for (const rows of missing.slice(0, done.length)) assert.deepEqual(await ask(rows), []);
    }
  };
  const progress = db.parts.map(() => 0);
  const killed = { dataDir, url, cells: cellsAt(url, count), migrations: folder.href };
  for (let kill = 0; kill < kills; kill += 1) {
    const place = nextPlace(random, progress, added.length);
    if (place === undefined) break;
    const how = await Promise.race([killInMigration(killed, random.below(1000) / 999, place), using]);
    t.diagnostic(`part ${place.part}, ${added[progress[place.part]!]}: killed ${how}`);
    await assertWhole(progress);
  }
  await migrate(db, 0, folder);
  await assertWhole(progress.fill(added.length));
  const before = people.map(({ rounds }) => rounds);
  const goOn = until('everybody goes on', async () => people.every(({ rounds }, at) => rounds > before[at]! + 1));
  await Promise.race([goOn, using]);
  isOver = true;
  await using;
  assert.equal((await people[0]!.user.elsewhere().signIn()).status, 303);
});
