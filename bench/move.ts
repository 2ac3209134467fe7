/** `npm run bench:move`: how long a store takes to move to PostgreSQL and back. What it measures: README.md. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEmptyPostgres } from '../test/support/postgres-server.ts';
import { freePort, stop } from './child.ts';
import { basicAuthorization } from './contender.ts';
import { childrenOf, peakMemory } from './processor-time.ts';
import { prepare } from './scenarios.ts';
import { listening, newDataDir, runSignet, send, settings, spawnSignet } from './signet.ts';
import { count, fillStore } from './size/fill-store.ts';
import { openSubject } from './size/subject.ts';
import { whereAndWhen } from './where-and-when.ts';

const help = `Usage: npm run bench:move -- [options]

  --users N      of the store (default 100000), with three grants each
  --rate N       entitlements that are written in a second while a first pass copies (default 50)
  --deep         the last pass compares every row of both stores
  --keep FOLDER  the store is made there, and a later call with the same folder begins with the move
  --json         the result as JSON on stdout, alone
  --help         this text

The stores are made in the folder for temporary files: some 10 KB for a user. Progress goes to stderr. Needs no network and,
without --keep, leaves nothing behind.`;

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '100000' },
    rate: { type: 'string', default: '50' },
    deep: { type: 'boolean', default: false },
    keep: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const users = Number(values.users);
const rate = Number(values.rate);
/** Whose entitlements are written, in turn. */
const written = 5_000;

const startedAt = performance.now();
const progress = (text: string) =>
  process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(7)} s  ${text}\n`);
const secondsSince = (at: number) => Math.round((performance.now() - at) / 100) / 10;

/** What the server has to do with rows that were copied. Each count reads a table. */
const unfinished = [
  'select count(*) from audit_log where seq is null',
  'select count(*) from users where terms_of is distinct from updated_at',
  'select count(*) from clients where terms_of is distinct from name',
];
const lookMs = users > 50_000 ? 20_000 : 1_000;

type Pass = { seconds: number; peak_mb: number; said: Record<string, unknown> };

const figures = (first: Pass, last: Pass, away_seconds: number) => ({
  first_pass_seconds: first.seconds,
  changes_left: first.said.changes_left,
  last_pass_seconds: last.seconds,
  away_seconds,
  peak_mb: Math.max(first.peak_mb, last.peak_mb),
});

if (values.help) console.log(help);
else if (!(users > 0 && rate >= 0)) {
  console.error(`--users and --rate take a number.\n\n${help}`);
  process.exitCode = 2;
} else await measure();

/** Filled, indexed and sealed, and no server runs on it. */
async function makeStore(folder: string): Promise<void> {
  const subject = await openSubject();
  try {
    const { client, other, user_id, path, contender } = subject;
    await prepare(contender, { accessTokens: 1, families: 5 }); // grants, to make copies of
    await subject.stop();
    const originals = { user_id, client_id: client.client_id, other_client_id: other.client_id };
    fillStore(path, { users, grants: users * 3, clients: Math.ceil(users / 10) }, originals, progress);
    await subject.start();
    for (const left of unfinished) while (count(path, left) > 0) await sleep(lookMs);
    await subject.stop();
    await rename(dirname(path), folder).catch(() => cp(dirname(path), folder, { recursive: true }));
  } finally {
    await subject.remove();
  }
}

async function measure(): Promise<void> {
  const scratch = await newDataDir();
  const kept = resolve(values.keep ?? join(scratch, 'made'));
  const [dataDir, back] = [join(scratch, 'data'), join(scratch, 'back')];
  const postgres = await startEmptyPostgres({ max_connections: '100' });
  const servers: ChildProcess[] = [];
  try {
    if (!existsSync(kept)) await makeStore(kept);
    await cp(kept, dataDir, { recursive: true });
    progress('the store is made, indexed and sealed');
    const port = await freePort();
    const address = { host: '127.0.0.1', port };
    const onSqlite = settings(dataDir, port);
    const onPostgres = {
      ...onSqlite,
      SIGNET_DATABASE_URL: postgres.url,
      SIGNET_MASTER_KEY_FILE: join(dataDir, 'master.key'),
    };
    const serve = async (env: NodeJS.ProcessEnv) => {
      const server = spawnSignet(['serve'], env);
      servers.push(server);
      await listening(address, server, 5);
      return server;
    };
    /** With a server that writes during the first pass. @returns the figures of both passes. */
    const moveAway = async (from: NodeJS.ProcessEnv, to: string, after: NodeJS.ProcessEnv, ...last: string[]) => {
      const env = { ...from, SIGNET_MOVE_TO: to };
      const server = await serve(from);
      const writes = keepWriting(address, from, usersOf(kept));
      const first = await move(env).finally(writes.end);
      progress(`copied, while ${await writes.made} entitlements were written: ${JSON.stringify(first)}`);
      const closedAt = performance.now();
      await stop(server);
      const finished = await move(env, '--finish', ...last);
      const next = await serve(after);
      const away_seconds = secondsSince(closedAt);
      await stop(next);
      const { tables = {}, ...said } = finished.said;
      progress(`finished: ${JSON.stringify({ ...finished, said, away_seconds })}`);
      const rows = Object.values(tables as Record<string, number>).reduce((sum, one) => sum + one, 0);
      return { rows, written: await writes.made, ...figures(first, finished, away_seconds) };
    };
    const last = values.deep ? ['--deep'] : [];
    const onSqliteAgain = { ...onPostgres, SIGNET_DATABASE_URL: '', SIGNET_DATA_DIR: back };
    const result = {
      ...whereAndWhen('bench:move'),
      users,
      to_postgres: await moveAway(onSqlite, postgres.url, onPostgres, ...last),
      to_sqlite: await moveAway(onPostgres, back, onSqliteAgain, ...last),
    };
    console.log(values.json ? JSON.stringify(result) : result);
  } finally {
    await Promise.all(servers.map(stop));
    await postgres.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

function usersOf(folder: string): string[] {
  const db = new DatabaseSync(join(folder, 'signet.db'), { readOnly: true });
  const rows = db.prepare(`select user_id from users order by user_id limit ${written}`).all();
  db.close();
  return rows.map(({ user_id }) => String(user_id));
}

/** Each write changes a row, adds one to the history, and is an event of the audit log. */
function keepWriting(address: { host: string; port: number }, env: NodeJS.ProcessEnv, ids: readonly string[]) {
  let goesOn = true;
  async function write(): Promise<number> {
    const rights = ['--permission', 'entitlements:write', '--product', 'signet'];
    const made = await runSignet(['service-credentials', 'create', '--name', 'Bench', ...rights, '--json'], env);
    const { client_id, credential_id, client_secret } = JSON.parse(made);
    const basic = basicAuthorization(client_id ?? credential_id, client_secret);
    const begun = performance.now();
    let writes = 0;
    while (goesOn) {
      const due = Math.min(Math.floor(secondsSince(begun) * rate) - writes, 8);
      const version = Math.floor(Date.now() / 1000);
      const bodies = Array.from({ length: Math.max(due, 0) }, (_, place) => ({
        ...{ user_id: ids[(writes + place) % ids.length], product: 'signet', plan: `plan-${writes}`, status: 'active' },
        ...{ source: 'bench', version },
      }));
      await Promise.all(bodies.map((body) => send(address, '/v1/entitlements', basic, body)));
      writes += bodies.length;
      await sleep(20);
    }
    return writes;
  }
  const made = write();
  made.catch(() => undefined); // it is awaited later
  const end = () => {
    goesOn = false;
  };
  return { made, end };
}

async function move(env: NodeJS.ProcessEnv, ...options: string[]): Promise<Pass> {
  const begun = performance.now();
  const command = spawn(join(import.meta.dirname, '../bin/signet'), ['move', '--json', ...options], { env });
  let [said, problem] = ['', ''];
  command.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  command.stderr.setEncoding('utf8').on('data', (text: string) => (problem += text));
  let peak_mb = 0;
  const watch = setInterval(() => {
    try {
      for (const pid of [command.pid!, ...childrenOf(command.pid!)]) peak_mb = Math.max(peak_mb, peakMemory(pid) || 0);
    } catch {} // it has just ended
  }, 200);
  const code = await new Promise<number | null>((ended) => command.once('close', ended));
  clearInterval(watch);
  if (code !== 0) throw new Error(`signet move ${options} exited with ${code}: ${said}${problem}`);
  return { seconds: secondsSince(begun), peak_mb, said: JSON.parse(said) };
}
