import { rm } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { childrenOf } from '../../bench/processor-time.ts';
import { addServer, moveCellTo } from '../../src/app/cells.ts';
import type { OneDb, Part } from '../../src/platform/db/db.ts';
import type { Bucket } from '../../src/platform/ids.ts';
import { afterTest } from './after-test.ts';
import { type PostgresServer, startEmptyPostgres } from './postgres-server.ts';
import { scratchFolder } from './scratch.ts';
import { type Options, type Signet, startSignet } from './signet.ts';
import { clockStart } from './store-template.ts';

const settings = {
  wal_level: 'logical',
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  autovacuum: 'off',
  wal_retrieve_retry_interval: '100ms', // after the other one was away
};

/** A store on two servers, of which the second has the cells `c2` and `c3`. */
export async function onTwoServers(
  t: TestContext,
  options: Options = {},
  start: typeof startSignet = startSignet,
): Promise<{ signet: Signet; first: PostgresServer; second: PostgresServer }> {
  const [first, second] = await Promise.all([startEmptyPostgres(settings), startEmptyPostgres(settings)]);
  afterTest(t, async () => void (await Promise.all([first, second].map((server) => server.stop()))));
  const dataDir = await scratchFolder('cells');
  afterTest(t, () => rm(dataDir, { recursive: true, force: true }));
  const env = { ...options.env, SIGNET_CELLS: 'c0 c1 c2 c3', SIGNET_CELL_SERVERS: `b=${second.url}` };
  const signet = await start(t, { ...options, on: { url: first.url, dataDir, at: clockStart / 1000 }, env });
  const { config } = signet.deps;
  const now = () => signet.clock() / 1000;
  await addServer(config, 'b', now());
  for (const cell of ['c2', 'c3']) {
    await moveCellTo(config, cell, 'b', { now, monotonic: () => performance.now(), onProgress: () => {} });
  }
  return { signet, first, second };
}

/** As a machine that answers nothing and closes no connection. @returns what ends it. */
export function freeze({ pid }: PostgresServer): () => void {
  const all = [pid, ...childrenOf(pid)];
  for (const one of all) process.kill(one, 'SIGSTOP');
  return () => {
    for (const one of all.toReversed()) process.kill(one, 'SIGCONT');
  };
}

type Which = 'first' | 'second';
const isPartOf = ({ deps: { db } }: Signet, part: Part, server: Which): boolean =>
  db.parts.indexOf(part as OneDb) > 2 === (server === 'second');

/** @param id of a user, or a key. */
export const isOn = (signet: Signet, id: string, server: Which): boolean =>
  isPartOf(signet, signet.deps.db.of(id), server);

export const isIn = (signet: Signet, bucket: Bucket, server: Which): boolean =>
  isPartOf(signet, signet.deps.db.in(bucket), server);
