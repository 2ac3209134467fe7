import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { layouts } from '../../bench/database.ts';
import type { Parts } from '../../bench/parts.ts';
import { slowFsync } from '../../bench/slow-fsync.ts';
import { scratchFolder } from '../support/scratch.ts';

const mainOfMemory = fileURLToPath(new URL('../../bench/memory.ts', import.meta.url));
const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));
const mainOfLayouts = fileURLToPath(new URL('../../bench/layouts.ts', import.meta.url));
const mainOfSize = fileURLToPath(new URL('../../bench/size/main.ts', import.meta.url));

const bench = (...args: string[]) => run(main, ...args);

async function run(main: string, ...args: string[]) {
  const { PATH, NODE_COMPILE_CACHE, TEST_SCRATCH: TMPDIR } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...(TMPDIR && { TMPDIR }) };
  const child = spawn(process.execPath, [main, ...args], { env });
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

test('npm run bench: every scenario runs on every server, and each answer is right', async () => {
  const { code, stdout, stderr } = await bench('--smoke', '--fsync-ms', '1', '--workers', '2');
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^Signet starts in \d+ ms for the first time and in \d+ ms later, and idles with (\d+|NaN) MB\.$/m,
  );
  assert.match(stdout, /^A code with its tokens adds \d{4,5} bytes to its write-ahead log\.$/m);
  const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
  for (const title of ['requests/s', ...(process.platform === 'linux' ? ['processor µs'] : [])]) {
    const [head, ...measured] = rows.slice(rows.findIndex(([first]) => first === title));
    assert.deepEqual(head?.slice(0, 6), [title, 'signet', 'slow disk', 'workers', 'oidc-provider', 'floor']);
    const compared = { code_exchange: 5, refresh: 4, userinfo: 4, introspect: 4 };
    const own = { userinfo_new: 3, authorize: 3, sign_in: 4, discovery: 4, key_set: 4 };
    const bound = { dpop_exchange: 4, dpop_refresh: 4, dpop_userinfo: 4, pushed_request: 4 };
    const servers = { ...compared, ...own, ...bound };
    for (const [at, [scenario, count]] of Object.entries(servers).entries()) {
      const [name, ...cells] = measured[at] ?? [];
      assert.equal(name, scenario);
      const figures = cells.slice(0, count);
      assert.ok(figures.length === count && figures.every((figure) => Number(figure) > 0), `${name}: ${cells}`);
    }
  }
});

test('npm run bench: a disk that cannot be slow is said, and only numbers of milliseconds are taken', async (t) => {
  const folder = await scratchFolder('bench');
  t.after(() => rm(folder, { recursive: true }));
  const slow = slowFsync(2, folder);
  if (typeof slow === 'string') assert.match(slow, /^--fsync-ms needs .*: it is skipped\./);
  else {
    const script =
      "const fs = require('node:fs'); const t = performance.now(); fs.fsyncSync(1); console.log(performance.now() - t)";
    const output = openSync(join(folder, 'output'), 'w+');
    const env = { ...slow, SLOW_FSYNC_MS: '30' };
    spawnSync(process.execPath, ['--eval', script], { env, stdio: ['ignore', output, 'inherit'] });
    assert.ok(Number(readFileSync(join(folder, 'output'), 'utf8')) >= 30);
    closeSync(output);
  }
  const { code, stderr } = await bench('--fsync-ms', 'two');
  assert.equal(code, 2);
  assert.match(stderr, /^--fsync-ms takes milliseconds, up to 1000\.\n/);
});

test('npm run bench: a number of workers that it cannot start is said, and nothing is measured', async () => {
  for (const workers of ['1', '65', '2.5', 'two', '']) {
    const { code, stdout, stderr } = await bench('--workers', workers);
    assert.deepEqual([code, stdout], [2, ''], workers);
    assert.match(stderr, /^--workers takes a whole number from 2 to 64\.\n/);
  }
});

test('npm run bench: what the processor was used for, with so many requests in flight', async () => {
  const { code, stdout, stderr } = await bench(
    ...['--smoke', '--json', '--alone', '--only', 'refresh,userinfo', '--connections', '3'],
  );
  assert.equal(code, 0, stderr);
  const { connections, flush_ms, processor_us, parts_us, quietest, rates } = JSON.parse(stdout);
  assert.deepEqual(Object.keys(rates), ['signet']);
  assert.equal(connections, 3);
  assert.ok(flush_ms >= 0); // In memory it takes no time that is measured.
  if (process.platform !== 'linux') return;
  for (const kind of ['refresh', 'userinfo']) {
    const { event_loop, threads, database, generator } = parts_us.signet[kind];
    const { rate, parts, others } = quietest.signet[kind];
    assert.deepEqual(parts, parts_us.signet[kind], 'there is one round');
    assert.ok(rate > 0 && others >= 0 && others <= availableParallelism(), `${rate}, ${others}`);
    assert.ok(event_loop > 0 && generator > 0 && database === 0, kind);
    assert.ok(Math.abs(event_loop + threads - processor_us.signet[kind]) <= 1, kind);
  }
  for (const [option, value, sentence] of [
    ['--connections', '129', /^--connections takes a whole number from 1 to 128\.\n/],
    ['--window-ms', '5', /^--window-ms takes milliseconds, from 10 to 60000\.\n/],
    ['--pause-ms', 'long', /^--pause-ms takes milliseconds, up to 60000\.\n/],
  ] as const) {
    const refused = await bench(option, value);
    assert.deepEqual([refused.code, refused.stdout], [2, '']);
    assert.match(refused.stderr, sentence);
  }
});

test('npm run bench:layouts: every operation is right in one part, in cells of one server and of two', async () => {
  const { code, stdout, stderr } = await run(mainOfLayouts, '--smoke', '--json');
  assert.equal(code, 0, stderr);
  const { parts_us, ratios } = JSON.parse(stdout);
  assert.deepEqual([Object.keys(parts_us), Object.keys(ratios)], [[...layouts], layouts.slice(1)]);
  if (process.platform !== 'linux') return;
  for (const layout of layouts) {
    for (const [operation, { event_loop, database }] of Object.entries<Parts>(parts_us[layout])) {
      assert.ok(event_loop > 0 && database > 0, `${operation} in ${layout}`);
    }
  }
  const refused = await run(mainOfLayouts, '--rounds', '0');
  assert.deepEqual([refused.code, refused.stdout], [2, '']);
  assert.match(refused.stderr, /^--rounds takes a whole number from 1\.\n/);
});

test('npm run bench: an option that it does not know is said, and nothing is measured', async () => {
  const { code, stdout, stderr } = await bench('--only', 'exchange');
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /^--only does not know exchange\.\n\nUsage: npm run bench/);
});

test('npm run bench:size: a store is filled, and every page and operation is compared with a small one', async () => {
  const { code, stdout, stderr } = await run(mainOfSize, '--smoke', '--json');
  assert.equal(code, 0, stderr);
  const { users, comparisons, works } = JSON.parse(stdout) as {
    users: number;
    comparisons: { name: string; ratio: number }[];
    works: { name: string; rows: number }[];
  };
  assert.equal(users, 60);
  const compared = new Map(comparisons.map(({ name, ratio }) => [name, ratio]));
  for (const name of [
    ...['code_exchange', 'refresh', 'userinfo', 'introspect', 'POST /v1/entitlements'],
    ...[
      'GET /admin',
      'GET /admin/users?after=…&trail=…',
      'GET /admin/users/:user',
      'GET /account/apps',
      'GET /developer',
    ],
    ...['GET /v1/admin/users', 'GET /v1/admin/users?query=user1', 'GET /v1/me/grants', 'GET /v1/admin/audit?action=…'],
  ]) {
    assert.ok(Number(compared.get(name)) > 0, `${name} was not compared`);
  }
  assert.deepEqual(
    works.map(({ name, rows }) => [name, rows]),
    [['seal the audit log', 15]],
  );
});

test('npm run bench:size: a number that it cannot use is said, and nothing is measured', async () => {
  const fewer = await run(mainOfSize, '--users', '5999');
  assert.deepEqual([fewer.code, fewer.stdout], [2, '']);
  assert.match(fewer.stderr, /^--users takes 6000 at least\.\n\nUsage: npm run bench:size/);
  const { code, stdout, stderr } = await run(mainOfSize, '--users', 'many');
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /^--users, --grants, --rounds and --watch take a whole number from 1\.\n\nUsage: npm run bench:size/,
  );
});

test('npm run bench:memory: the most that a server had while flows and sign-ins were made is measured', async () => {
  const { code, stdout, stderr } = await run(mainOfMemory, '--smoke', '--json');
  assert.equal(code, 0, stderr);
  const { flows, sign_ins, idle_mb, peak_mb } = JSON.parse(stdout) as Record<string, number>;
  assert.ok(flows! >= 12 && sign_ins! >= 4 && peak_mb! >= idle_mb! && idle_mb! > 0, stdout);
  const wrong = await run(mainOfMemory, '--seconds', 'many');
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /^--seconds and --workers take a number above 0\.\n\nUsage: npm run bench:memory/);
});
