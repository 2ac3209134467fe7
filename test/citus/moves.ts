import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moveCellTo } from '../../src/app/cells.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { until } from '../support/until.ts';
import {
  addressOf,
  type Cluster,
  cellNames,
  freshCluster,
  listenToRemote,
  logging,
  placesOf,
  signetOn,
  skip,
} from './cluster.ts';
import { keepAsking, refresh, signedInPeople } from './people.ts';

test('cells move while people refresh, by command and by the rebalancer of Citus, and are found there', {
  skip,
}, async (t) => {
  const cluster = await freshCluster(t);
  const signet = await signetOn(t, { ...cluster, url: logging(cluster.url) });
  const people = await signedInPeople(signet, 16);
  const { config } = signet.deps;
  const outside = { now: () => 0, monotonic: () => performance.now(), onProgress: () => undefined };
  const [one] = cluster.workers.map(addressOf);
  const away = cellNames.filter((_, place) => placesOf(signet)[place] !== one);
  let isOver = false;
  const asking = keepAsking(signet, people, () => isOver);
  try {
    for (const cell of away) assert.equal((await moveCellTo(config, cell, one!, outside)).cell, cell);
    await until('all cells are found on one node', () => placesOf(signet).every((place) => place === one));
    await asAdmin(cluster.url, (client) => client.query('select rebalance_table_shards()'));
    await until('they are found where Citus has taken them', async () => {
      const places = await placesByCitus(cluster);
      assert.equal(new Set(places).size, 2, 'the rebalancer has spread them again');
      return String(placesOf(signet)) === String(places);
    });
  } finally {
    isOver = true;
  }
  t.diagnostic(JSON.stringify(await asking));
  const { byWorkers, stop } = listenToRemote(cluster);
  t.after(stop);
  for (const person of people) assert.equal((await refresh(person)).status, 200);
  assert.deepEqual(byWorkers, [], 'each is asked of the node that has it now');
});

/** By its own view of where its shards are. */
const placesByCitus = ({ url }: Cluster): Promise<string[]> =>
  asAdmin(url, async (client) => {
    const { rows } = await client.query(
      `select nodename || ':' || nodeport as node from citus_shards where table_name::text like 'c_.users' order by table_name::text`,
    );
    return rows.map(({ node }) => node);
  });
