import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import { databaseFile } from '../../src/platform/db/open.ts';
import { signedInClient } from '../support/command-line.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import {
  bareSettings,
  codeFor,
  redeemAt,
  refreshAt,
  type ServerProcess,
  type Settings,
  startServer,
} from '../support/server-process.ts';
import { startSignet } from '../support/signet.ts';
import { masterKey } from '../support/store-template.ts';
import { until } from '../support/until.ts';

const images = repeated(4);
const chainCount = 6;

/** The refresh tokens of one grant, oldest first: each was in an answer that arrived whole. */
type Chain = { tokens: string[] };
/** `acknowledged`: the place of the last token of each chain when the log had at most `flushed` bytes. */
type Image = { folder: string; acknowledged: readonly number[]; flushed: number };

const logOf = (folder: string) => join(folder, `${databaseFile}-wal`);
/** Changes when the log is begun anew (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
const saltsOf = (log: Buffer): string => log.subarray(16, 24).toString('hex');

test('images of the files amid writes, and with a torn end of the log, hold all that had been acknowledged', async (t) => {
  const random = seededRandom(t);
  const settings: Settings = {
    ...(await bareSettings(t)),
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
  };
  const dataDir = settings.SIGNET_DATA_DIR ?? '';
  const server = await startServer(t, settings);
  const { browser, client } = await signedInClient(server);
  const chains: Chain[] = [];
  for (let number = 0; number < chainCount; number += 1) {
    chains.push({ tokens: [(await redeemAt(server.url, client, await codeFor(browser, client))).refresh_token] });
  }
  const stream = new AbortController();
  const streams = chains.map((chain) => keepRefreshing(server, client, chain, stream.signal));
  const taken: Image[] = [];
  for (let number = 0; taken.length < images; number += 1) {
    const image = await takeImage(server, chains, { dataDir, folder: join(dataDir, `../image-${number}`), random });
    if (image) taken.push(image);
  }
  stream.abort();
  await server.stop('SIGKILL'); // so that the requests that no image has answered are known to be lost
  await Promise.all(streams);

  const total = { torn: 0, bytesTornOff: 0, tokens: 0 };
  for (const [number, image] of taken.entries()) {
    if (number % 2 === 1) {
      total.bytesTornOff += tear(image, random);
      total.torn += 1;
    }
    const db = new DatabaseSync(join(image.folder, databaseFile));
    assert.deepEqual({ ...db.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
    db.close();
    const signet = await startSignet(t, { on: { dataDir: image.folder, at: Math.floor(Date.now() / 1000) } });
    const there = client.at(signet);
    for (const [place, { tokens }] of chains.entries()) {
      const last = image.acknowledged[place]!;
      const active = await Promise.all(tokens.map(async (one) => (await there.introspect(one)).json?.active === true));
      assert.deepEqual(active.slice(0, last).filter(Boolean), [], 'a token that was replaced is active');
      assert.ok(active.filter(Boolean).length <= 1, 'two tokens of a grant are active');
      // If none of them is, its successor was written, and the answer is in no image: its client asks for it again.
      if (!active.includes(true)) {
        const answers = await Promise.all(tokens.slice(last).map(async (one) => (await there.refresh(one)).status));
        assert.ok(answers.includes(200), `an acknowledged token was lost: ${answers}`);
      }
      total.tokens += tokens.length;
    }
    await signet.runJobs();
    const { broken, unsealed } = await verifyAuditLog(signet.deps);
    assert.deepEqual([broken, unsealed], [undefined, 0]);
  }
  t.diagnostic(JSON.stringify({ images: taken.length, ...total }));
});

async function keepRefreshing(
  { url }: ServerProcess,
  client: RegisteredClient,
  { tokens }: Chain,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    const answer = await refreshAt(url, client, tokens.at(-1)!).catch(() => undefined);
    if (answer === undefined) return;
    assert.equal(answer.status, 200);
    tokens.push(answer.refresh_token);
  }
}

/** The process stands still while its files are copied, as they do in a machine that loses power. */
async function takeImage(
  { pid }: ServerProcess,
  chains: readonly Chain[],
  { dataDir, folder, random }: { dataDir: string; folder: string; random: Random },
): Promise<Image | undefined> {
  const counts = () => chains.map(({ tokens }) => tokens.length);
  const answers = (count: number) =>
    until(`${count} answers`, () => counts().reduce((sum, one) => sum + one, 0) >= count);
  const enough = counts().reduce((sum, one) => sum + one, 0) + 1 + random.below(3 * chainCount);
  await answers(enough);
  // What was acknowledged until here had been flushed before, so it is within the present length of the log.
  const acknowledged = counts().map((count) => count - 1);
  const [flushed, salts] = [statSync(logOf(dataDir)).size, saltsOf(readFileSync(logOf(dataDir)))];
  const later = counts().reduce((sum, one) => sum + one, 0) + random.below(chainCount);
  await answers(later);
  mkdirSync(folder);
  process.kill(pid, 'SIGSTOP');
  try {
    const state = () => spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
    await until('the process stands still', () => state().startsWith('T'));
    for (const path of [databaseFile, `${databaseFile}-wal`]) copyFileSync(join(dataDir, path), join(folder, path));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  // A log that was begun anew meanwhile says nothing about that length.
  return saltsOf(readFileSync(logOf(folder))) === salts ? { folder, acknowledged, flushed } : undefined;
}

/** Of what was not flushed a disk may keep a part, or pages of zeros, or anything. @returns how many bytes were lost. */
function tear({ folder, flushed }: Image, random: Random): number {
  const path = logOf(folder);
  const { size } = statSync(path);
  const kept = flushed + random.below(size - flushed + 1);
  truncateSync(path, kept);
  const rest = Buffer.alloc(random.below(size - kept + 1));
  if (random.percent(50)) for (let at = 0; at < rest.length; at += 1) rest[at] = random.below(256);
  writeFileSync(path, rest, { flag: 'a' });
  return size - kept;
}
