import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openDb } from '../../src/platform/db/open.ts';
import type { Delivery } from '../../src/webhooks/store.ts';
import { afterTest } from '../support/after-test.ts';
import type { Browser } from '../support/browser.ts';
import { signedInClient, succeed } from '../support/command-line.ts';
import { plain } from '../support/plain-sql.ts';
import { startEmptyPostgres } from '../support/postgres-server.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import {
  bareSettings,
  codeFor,
  isActiveAt,
  isRunning,
  redeemAt,
  refreshAt,
  type ServerProcess,
  type Settings,
  startServer,
  type TokenAnswer,
} from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const rounds = repeated(3);
const chainCount = 16;

/** One grant's refresh tokens as a client sees them. Every token here was in an answer that arrived whole. */
type Chain = { acknowledged: TokenAnswer; previous: TokenAnswer | undefined; inFlight: boolean; refreshes: number };

test('kill -9 during a stream of refreshes, then restart, again and again: no acknowledged token is lost, none is alive twice', async (t) => {
  const random = seededRandom(t);
  const settings = { ...(await bareSettings(t)), SIGNET_RATE_LIMITS: 'off' };
  let server = await startServer(t, settings);
  const { browser, client } = await signedInClient(server);
  let chains = await Promise.all(Array.from({ length: chainCount }, () => newChain(server, browser, client)));
  const total = { refreshes: 0, idle: 0, lostAnswers: 0, keptWithoutAnswer: 0 };

  // A kill may find no chain at rest, or none at work: then there are more of them.
  const isEnough = () => total.idle > 0 && total.lostAnswers > 0;
  for (let round = 1; round <= rounds || (!isEnough() && round <= rounds + 10); round += 1) {
    const stream = new AbortController();
    // By answers and not by time, so that there is a stream on a slow machine as well: more than one for each chain, the
    // last of them just now, so that its chain is at rest.
    const enough = countdown(chainCount + 1 + random.below(2 * chainCount));
    const streams = chains.map((chain) =>
      keepRefreshing(server, client, chain, { random, signal: stream.signal, onAnswer: enough.count }),
    );
    await Promise.race([enough.reached, Promise.all(streams)]);
    if (round % 2 === 0) await sleep(random.below(20));
    const killed = server.stop('SIGKILL');
    stream.abort();
    await Promise.all([killed, ...streams]);

    server = await startServer(t, settings);
    const verdicts = await Promise.all(chains.map((chain) => examine(server, client, chain, `round ${round}`)));
    total.refreshes += chains.reduce((sum, { refreshes }) => sum + refreshes, 0);
    total.idle += chains.filter(({ inFlight }) => !inFlight).length;
    total.lostAnswers += chains.filter(({ inFlight }) => inFlight).length;
    total.keptWithoutAnswer += verdicts.filter((wasAlive) => !wasAlive).length;
    chains = await Promise.all(chains.map(() => newChain(server, browser, client)));
  }
  t.diagnostic(JSON.stringify(total));
  assert.ok(total.refreshes > rounds * chainCount, 'there was a stream');
  assert.ok(isEnough(), 'the kill found chains at rest and chains at work');
});

test('kill -9 between event and delivery, and amid a delivery: after a restart both arrive, under the ids they had', async (t) => {
  const settings: Settings = { ...(await bareSettings(t)), SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };
  const receiver = await openReceiver(t);
  const server = await startServer(t, settings);
  const { browser } = await signedInClient(server);
  const hook = ['--url', receiver.url, '--event', 'user.changed'];
  const { webhook_id } = await succeed(['webhooks', 'create', ...hook], settings);
  const rename = async (name: string) => {
    const headers = { origin: server.url, 'content-type': 'application/json' };
    const answer = await browser.send('/v1/me', { method: 'PATCH', headers, body: JSON.stringify({ name }) });
    assert.equal(answer.status, 200, answer.text);
  };
  const arrivals = () => receiver.deliveries.map(({ headers }) => headers['webhook-id']);

  receiver.holds = true;
  await rename('First');
  await until('it is posted', () => arrivals().length === 1); // it was posted, and not answered
  await rename('Second'); // this one is promised, and no more
  await server.stop('SIGKILL');
  const [posted] = arrivals();

  const db = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
  const [claimed, ...others] = await plain(db).all<Delivery>('select * from webhook_deliveries order by attempts desc');
  assert.deepEqual([claimed?.delivery_id, claimed?.attempts, claimed?.delivered_at], [posted, 1, null]);
  assert.ok(others.length <= 1 && others.every(({ delivered_at }) => delivered_at === null));
  // The half minute for which the dead process had taken it passes while nothing runs.
  await plain(db).run('update webhook_deliveries set next_attempt_at = next_attempt_at - 30');
  await db.close();

  receiver.holds = false;
  await startServer(t, settings);
  const deliveries = async () =>
    (await succeed(['webhooks', 'deliveries', String(webhook_id)], settings)).deliveries as Record<string, unknown>[];
  await until('both are posted again', () => arrivals().length > 2);
  await until(
    'both are delivered',
    async () => (await deliveries()).filter(({ state }) => state === 'delivered').length === 2,
  );
  const again = arrivals().slice(1);
  assert.equal(again.filter((id) => id === posted).length, 1, 'the same one, once more');
  assert.deepEqual(new Set(again), new Set((await deliveries()).map(({ delivery_id }) => delivery_id)));
  assert.equal(again.length, 2);
});

async function newChain({ url }: ServerProcess, browser: Browser, client: RegisteredClient): Promise<Chain> {
  const acknowledged = await redeemAt(url, client, await codeFor(browser, client));
  assert.equal(acknowledged.status, 200);
  return { acknowledged, previous: undefined, inFlight: false, refreshes: 0 };
}

/** Until the server is killed. Half of the time it rests, so that the kill meets both. */
async function keepRefreshing(
  { url }: ServerProcess,
  client: RegisteredClient,
  chain: Chain,
  { random, signal, onAnswer }: { random: Random; signal: AbortSignal; onAnswer: () => void },
): Promise<void> {
  while (!signal.aborted) {
    chain.inFlight = true;
    let answer: TokenAnswer;
    try {
      answer = await refreshAt(url, client, chain.acknowledged.refresh_token);
    } catch {
      return; // the connection broke: it is unknown whether this one was kept
    }
    assert.equal(answer.status, 200);
    chain.previous = chain.acknowledged;
    chain.acknowledged = answer;
    chain.inFlight = false;
    chain.refreshes += 1;
    onAnswer();
    await sleep(random.below(20));
  }
}

function countdown(from: number) {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  let left = from;
  const count = () => {
    left -= 1;
    if (left === 0) resolve();
  };
  return { reached, count };
}

/** @returns whether the last acknowledged refresh token was still the living one. */
async function examine({ url }: ServerProcess, client: RegisteredClient, chain: Chain, round: string) {
  const { acknowledged, previous, inFlight } = chain;
  if (previous) assert.equal(await isActiveAt(url, client, previous.refresh_token), false, `${round}: two alive`);
  assert.equal(await isActiveAt(url, client, acknowledged.access_token), true, `${round}: access token lost`);
  const isAlive = await isActiveAt(url, client, acknowledged.refresh_token);
  if (!inFlight) assert.equal(isAlive, true, `${round}: an acknowledged refresh token was lost`);

  const uses = await Promise.all([1, 2, 3].map(() => refreshAt(url, client, acknowledged.refresh_token)));
  const statuses = uses.map(({ status }) => status).sort();
  // A client that lost the answer asks for it again, and however often it does, one successor is active.
  assert.deepEqual(statuses, isAlive ? [200, 400, 400] : [200, 200, 200], round);
  if (!isAlive) assert.equal(new Set(uses.map(({ refresh_token }) => refresh_token)).size, 1, `${round}: two alive`);
  return isAlive;
}

const torture = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['test/torture.ts', ...args], { cwd: join(import.meta.dirname, '../..') });

test('npm run torture repeats a subject with the seed it was given, counts its cases, and knows no other subject', async () => {
  const { stdout, stderr } = await torture('--minutes', '0', '--rounds', '1', '--only', 'log', '--seed', '7', '--json');
  const { passed, failed, files, seeds } = JSON.parse(stdout);
  assert.deepEqual([failed, files, seeds], [[], 1, [7, 7]], stderr);
  assert.ok(passed > 5);
  await assert.rejects(torture('--only', 'nothing'), /There is no subject nothing/);
});

test('npm run torture: a file that hangs is ended with all that it has started, and has failed', async (t) => {
  const pids = join(await scratchFolder('hangs'), 'pids');
  afterTest(t, () => rm(dirname(pids), { recursive: true }));
  process.env.FIXTURE_PIDS = pids;
  t.after(() => delete process.env.FIXTURE_PIDS);
  const file = 'test/support/fixture-that-hangs.ts';
  let patience = 0.01;
  let ended: { stdout: string; stderr: string; code?: number };
  // On a slow machine a short silence is one in which no test has begun yet.
  await until('it has come to the test that hangs', async () => {
    patience *= 2;
    const only = ['--only', file, '--patience', String(patience)];
    ended = await torture('--minutes', '0', ...only, '--json').catch((error) => error);
    return existsSync(pids);
  });
  const { code, stdout, stderr } = ended!;
  assert.equal(code, 1, stderr);
  const [failed] = JSON.parse(stdout).failed;
  assert.deepEqual([failed.file, failed.passed, failed.failed], [file, 1, ['hangs: a test that hangs']]);
  const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
  await until('what it has started has ended', () => !started.some(isRunning));
});

test('a PostgreSQL of the tests that does not start says why, and is not waited for', async () => {
  await assert.rejects(startEmptyPostgres({ max_connections: 'many' }), /PostgreSQL did not start:.*max_connections/s);
});
