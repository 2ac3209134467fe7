import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, succeed } from '../support/command-line.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { bareSettings } from '../support/server-process.ts';
import { masterKey } from '../support/store-template.ts';
import { addressOf, cellNames, freshCluster, joinCluster, skip } from './cluster.ts';

test('signet cells: a node is added, cells move to it, and all are listed; what cannot be is said', {
  skip,
}, async (t) => {
  const { url, workers } = await freshCluster(t, { joined: 1 });
  const [first, second] = workers.map(addressOf);
  const env = {
    ...(await bareSettings(t)),
    SIGNET_DATABASE_URL: url,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_CELLS: cellNames.join(' '),
  };
  await refused(['migrate'], { ...env, SIGNET_CELL_SERVERS: `b=${workers[0]}` }, /Remove SIGNET_CELL_SERVERS/);
  await refused(['migrate'], { ...env, SIGNET_DATABASE_URL: workers[0]! }, /leads to a worker of Citus/);
  await succeed(['migrate'], env);
  const person = ['users', 'create', '--email', 'ada@example.com', '--name', 'Ada', '--verified', '--password-stdin'];
  await succeed(person, env, 'ordinary words in a row\n');
  const placesListed = async () =>
    ((await succeed(['cells', 'list'], env)).cells as { server: string; problem: unknown }[]).map((cell) =>
      cell.problem === null ? cell.server : cell.problem,
    );
  assert.deepEqual(await placesListed(), [first, first, first, first]);
  await refused(['cells', 'move', 'c1', '--to', second!], env, /Citus refuses it/);
  await refused(['cells', 'add', 'b'], env, /named by its address/);
  await succeed(['cells', 'add', second!], env);
  for (const cell of ['c1', 'c3']) {
    assert.deepEqual(await succeed(['cells', 'move', cell, '--to', second!], env), {
      cell,
      from: `postgres://postgres@${first}${new URL(url).pathname}`,
      to: `postgres://postgres@${second}${new URL(url).pathname}`,
    });
  }
  await refused(['cells', 'move', 'c1', '--to', second!], env, /c1 is on that server already/);
  await refused(['cells', 'move', 'c9', '--to', second!], env, /has no cell c9/);
  assert.deepEqual(await placesListed(), [first, second, first, second]);
  const { user_id } = await succeed(['users', 'show', 'ada@example.com'], env);
  assert.match(String(user_id), /^usr_/);
});

test('a store in cells on one PostgreSQL becomes one on Citus, cell by cell', { skip }, async (t) => {
  const { url, workers } = await freshCluster(t, { isBare: true });
  const env = {
    ...(await bareSettings(t)),
    SIGNET_DATABASE_URL: url,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_CELLS: cellNames.join(' '),
  };
  await succeed(['migrate'], env);
  const addresses = Array.from({ length: 8 }, (_, n) => `ada${n}@example.com`);
  const create = (email: string) =>
    succeed(
      ['users', 'create', '--email', email, '--name', 'Ada', '--verified', '--password-stdin'],
      env,
      'ordinary words in a row\n',
    );
  for (const email of addresses) await create(email);
  await joinCluster({ url, workers }, 0);
  await succeed(['migrate'], env);
  for (const worker of workers) await succeed(['cells', 'add', addressOf(worker)], env);
  for (const [place, cell] of cellNames.entries()) {
    await succeed(['cells', 'move', cell, '--to', addressOf(workers[place % workers.length]!)], env);
  }
  for (const email of addresses) assert.equal((await succeed(['users', 'show', email], env)).email, email);
  await create('late@example.com');
  const left = await asAdmin(url, (client) =>
    client.query('select count(*)::int as schemas from citus_schemas where schema_name::text like $1', ['c_']),
  );
  assert.equal(left.rows[0].schemas, cellNames.length);
});
