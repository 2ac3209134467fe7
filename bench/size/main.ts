/** `npm run bench:size`: what a large store costs, beside a small one. What it measures: ../README.md. */
import { existsSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { basicAuthorization } from '../contender.ts';
import { getRequest, run, withFewer } from '../load.ts';
import { prepare, tokenScenarioNames } from '../scenarios.ts';
import { targets as allTargets } from '../targets.ts';
import { whereAndWhen } from '../where-and-when.ts';
import { count, type Expired, expireGrants, fillStore, rowsAndBytes, rowsOfAll } from './fill-store.ts';
import { type Probe, probeKeySet } from './key-set-probe.ts';
import { exchangeBytes } from './one-connection.ts';
import { findRequests } from './requests.ts';
import { openSubject, type Subject, writeEntitlement } from './subject.ts';

const help = `Usage: npm run bench:size -- [options]

  --users N     users of the large store (default 100000; 6000 at least)
  --grants N    its grants (default three for each user)
  --rounds N    measurements of each request on each store (default 15)
  --watch N     seconds after which work over many rows is left to itself (default 300)
  --smoke       one small store beside itself, without the work over many rows: whether it works
  --json        the result as JSON on stdout, alone
  --check       exit with 1 when a figure misses its target
  --help        this text

The store of so many rows is made in the folder for temporary files: some 4 KB for a user with three grants.
Progress goes to stderr. Needs no network and leaves nothing behind.`;

/**
 * Enough that each list has a full first page: an empty one would only compare how much is shown. In the proportions of the
 * large store: to find the clients of some users takes longer where fewer users have one, whatever the size.
 */
const small = { users: 6000, grants: 18_000, clients: 600 };

const options = readOptions();
const warmUps = options.smoke ? 0 : 2;
const oftenMs = options.smoke ? 0 : 5;

const targets = allTargets.size;
/** No more than a user may have active grants for a client. */
const tokens = options.smoke ? { accessTokens: 4, families: 12 } : { accessTokens: 20, families: 75 };
/** Requests of one measurement of a scenario; more than there are connections. */
const scenarioRequests = options.smoke ? 20 : 300;
const smokeConnections = 16;
/** Some pages want a sign-in of the last 15 minutes, and a large store takes longer to compare. */
const recentSignInMs = 5 * 60_000;
/** One of so many grants expires before the purge. */
const expiredOneOf = 7;
/** Of the copies in a store. */
const someUser = 'user1@example.com';

const startedAt = performance.now();
const progress = (text: string) =>
  process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);

const subjects: Subject[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await Promise.allSettled(subjects.map((subject) => subject.remove()));
    process.exit(130);
  });
}

try {
  const result = await measure();
  console.log(options.json ? JSON.stringify(result) : table(result));
  const missed = missedTargets(result);
  if (options.check && missed.length > 0) {
    console.error(`Missed: ${missed.join('; ')}`);
    process.exitCode = 1;
  }
} catch (error) {
  console.error(`The bench failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await Promise.allSettled(subjects.map((subject) => subject.remove()));
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        users: { type: 'string' },
        grants: { type: 'string' },
        rounds: { type: 'string' },
        watch: { type: 'string' },
        smoke: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      console.log(help);
      process.exit(0);
    }
    const users = Number(values.users ?? (values.smoke ? 60 : 100_000));
    const rounds = Number(values.rounds ?? (values.smoke ? 1 : 15));
    const grants = Number(values.grants ?? users * 3);
    const clients = Math.ceil(users / 10);
    const watch = Number(values.watch ?? 300);
    if (!values.smoke && users < small.users) throw new Error(`--users takes ${small.users} at least.`);
    if (![users, grants, rounds, watch].every((number) => Number.isInteger(number) && number > 0)) {
      throw new Error('--users, --grants, --rounds and --watch take a whole number from 1.');
    }
    return { ...values, size: { users, grants, clients }, rounds, watchMs: watch * 1000 };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
}

/**
 * Milliseconds for one request to each store, how many times the small one's the large one's is, and the longest time that
 * the key set of the large one went unanswered meanwhile.
 */
type Comparison = { name: string; small_ms: number; large_ms: number; ratio: number; key_set_ms: number };
/** How long so many rows took, how many were left then, and the longest time that the key set went unanswered meanwhile. */
type Work = { name: string; seconds: number; rows: number; rows_left: number; key_set_ms: number };
type Rows = Pick<Work, 'rows' | 'rows_left'>;

async function measure() {
  progress('starting servers');
  for (const _ of options.smoke ? ['both'] : ['small', 'large']) subjects.push(await openSubject());
  const [few, many] = [subjects.at(0)!, subjects.at(-1)!];
  const ofFew = await prepare(few.contender, tokens);
  const scenarios = [ofFew, many === few ? ofFew : await prepare(many.contender, tokens)] as const;

  let events = 0;
  const starts: number[] = [];
  for (const subject of subjects) {
    await subject.stop();
    events = fillStore(subject.path, subject === many ? options.size : small, originalsOf(subject), (text) => {
      if (subject === many) progress(text);
    });
    starts.push(await subject.start());
  }
  const start_ms = { small: starts.at(0)!, large: starts.at(-1)! };
  progress(`started in ${starts.map((ms) => `${Math.round(ms)} ms`).join(' and ')}`);

  const { upkeep, comparisons, rows_per_refresh } = await probing(many, async (probe) => {
    const sealed = await watchWork(probe, 'seal the audit log', async () => {
      await whenZero(many, 'select count(*) from audit_log where seq is null');
      return { rows: events, rows_left: 0 };
    });
    const upkeep = [sealed];
    if (!options.smoke) {
      const indexed = await watchWork(probe, 'index users and clients for search', async () => {
        await whenZero(many, 'select count(*) from users where terms_of is distinct from updated_at');
        await whenZero(many, 'select count(*) from clients where terms_of is distinct from name');
        return { rows: options.size.users, rows_left: 0 };
      });
      upkeep.push(indexed);
    }
    // The probe asks some 400 times a second: what is compared with it has to be asked as often.
    const rowsBefore = rowsOfAll(few.path);
    await run(few.address, await scenarios[0].refresh(scenarioRequests));
    const rows_per_refresh = Math.round((100 * (rowsOfAll(few.path) - rowsBefore)) / scenarioRequests) / 100; // a job may add one
    const comparisons = await probing(few, async () => [
      ...(await compareScenarios(probe, [few, many], scenarios)),
      ...(await compareRequests(probe, [few, many])),
      await compareWrites(probe, [few, many]),
    ]);
    return { upkeep, comparisons, rows_per_refresh };
  });
  const { name, key_set_ms } = longestOf(comparisons);
  progress(`the key set took at most ${key_set_ms.toFixed(1)} ms while requests were compared (${name})`);
  const tables = rowsAndBytes(many.path, options.size.users / 8);

  const works = options.smoke ? upkeep : [...upkeep, ...(await measureWorks(many))];
  const wal_bytes = existsSync(`${many.path}-wal`) ? statSync(`${many.path}-wal`).size : 0;
  return {
    ...whereAndWhen('bench:size'),
    ...options.size,
    small_users: small.users,
    comparisons,
    works,
    start_ms,
    tables,
    rows_per_refresh,
    wal_bytes,
  };
}

/** Both stores, one after the other; which of them is first changes from round to round. */
function sides(round: number): Pair<0 | 1> {
  return round % 2 === 0 ? [0, 1] : [1, 0];
}
type Pair<Of> = readonly [small: Of, large: Of];

/** Code exchange, refresh, userinfo and introspection under load, as in `npm run bench`. */
async function compareScenarios(
  probe: Probe,
  stores: Pair<Subject>,
  scenarios: Pair<Awaited<ReturnType<typeof prepare>>>,
): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const name of tokenScenarioNames) {
    const compared = await compare(probe, name, async (side) => {
      const load = await scenarios[side][name](scenarioRequests);
      return 1000 / (await run(stores[side].address, options.smoke ? withFewer(load, smokeConnections) : load));
    });
    comparisons.push(compared);
  }
  progress('compared token requests');
  return comparisons;
}

async function compareRequests(probe: Probe, [few, many]: Pair<Subject>): Promise<Comparison[]> {
  const ofFew = await findRequests(few);
  const requests = [ofFew, many === few ? ofFew : await findRequests(many)] as const;
  const connections = [await exchangeBytes(few.address), await exchangeBytes(many.address)] as const;
  let cookies = [await few.newCookie(), await many.newCookie()] as const;
  let signedInAt = performance.now();
  const compareRequest = async (name: string, paths: Pair<string>): Promise<Comparison> => {
    if (performance.now() - signedInAt > recentSignInMs) {
      cookies = [await few.newCookie(), await many.newCookie()];
      signedInAt = performance.now();
    }
    const get = [
      getRequest(few.address, paths[0], { Cookie: cookies[0] }),
      getRequest(many.address, paths[1], { Cookie: cookies[1] }),
    ] as const;
    return compare(probe, name, (side) =>
      timedOften(async () => {
        const { status } = await connections[side].exchange(get[side]);
        if (status !== 200) throw new Error(`${name} was answered with ${status}.`);
      }),
    );
  };
  const comparisons = new Map<string, Comparison>();
  const both = [...requests[1]].flatMap(([name, pathOfMany]) => {
    const pathOfFew = requests[0].get(name);
    return pathOfFew === undefined ? [] : [[name, [pathOfFew, pathOfMany]] as const];
  });
  for (const [name, paths] of both) comparisons.set(name, await compareRequest(name, paths));
  // A job that ran on the large store meanwhile, for which a small one has no work, was in the way of a few.
  for (const [name, paths] of both) {
    const first = comparisons.get(name)!;
    if (first.ratio <= targets.ratio) continue;
    const again = await compareRequest(name, paths);
    const key_set_ms = Math.max(first.key_set_ms, again.key_set_ms);
    comparisons.set(name, { ...(again.ratio < first.ratio ? again : first), key_set_ms });
  }
  for (const { close } of connections) close();
  progress(`compared ${comparisons.size} pages and operations`);
  return [...comparisons.values()];
}

function compareWrites(probe: Probe, stores: Pair<Subject>): Promise<Comparison> {
  let version = 1; // of the write before
  return compare(probe, 'POST /v1/entitlements', (side) => {
    const { address, service, user_id } = stores[side];
    const basic = basicAuthorization(service.client_id, service.client_secret);
    version += 1;
    return timed(() => writeEntitlement(address, basic, user_id, version));
  });
}

/** @param measureOnce returns milliseconds. */
async function compare(probe: Probe, name: string, measureOnce: (side: 0 | 1) => Promise<number>): Promise<Comparison> {
  await probe.longest();
  const times: Pair<number[]> = [[], []];
  for (let round = -warmUps; round < options.rounds; round += 1) {
    for (const side of sides(round)) {
      const ms = await measureOnce(side);
      if (round >= 0) times[side].push(ms);
    }
  }
  const [small_ms, large_ms] = [median(times[0]), median(times[1])];
  const ratio = median(times[1].map((ms, at) => ms / times[0][at]!));
  return { name, small_ms, large_ms, ratio, key_set_ms: await probe.longest() };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}

/** What takes less than a turn of the scheduler says little when it is done once. @returns the mean, in milliseconds. */
async function timedOften(work: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  for (let count = 1; ; count += 1) {
    await work();
    const passed = performance.now() - begunAt;
    if (passed >= oftenMs) return passed / count;
  }
}

function originalsOf({ user_id, client, other }: Subject) {
  return { user_id, client_id: client.client_id, other_client_id: other.client_id };
}

async function measureWorks(many: Subject): Promise<Work[]> {
  await many.stop();
  const expired = expireGrants(many.path, expiredOneOf);
  await many.start();
  return probing(many, (probe) => runWorks(many, probe, expired));
}

async function probing<Kept>({ address }: Subject, work: (probe: Probe) => Promise<Kept>): Promise<Kept> {
  const probe = probeKeySet(address);
  try {
    return await work(probe);
  } finally {
    await probe.stop();
  }
}

/** Work over many rows: each is begun as its user would begin it, and is done when no rows are left. */
async function runWorks(many: Subject, probe: Probe, expired: Expired): Promise<Work[]> {
  const { path, client, other, user_id, command } = many;
  const works: Work[] = [];
  const work = async (
    name: string,
    begin: () => Promise<unknown>,
    rows: number | { left: string; before?: number },
  ) => {
    const before = typeof rows === 'number' ? rows : (rows.before ?? count(path, rows.left));
    const done = await watchWork(probe, name, async () => {
      await begin();
      const rows_left = typeof rows === 'number' ? 0 : await whenZero(many, rows.left, options.watchMs);
      return { rows: before - rows_left, rows_left };
    });
    works.push(done);
    progress(
      `${name}: ${done.rows} rows in ${done.seconds.toFixed(1)} s, ${done.rows_left} left, key set at most ${done.key_set_ms.toFixed(1)} ms`,
    );
  };
  await work('purge expired grants', async () => undefined, expired); // from the start of the server
  await work('suspend a client', () => command('clients', 'suspend', client.client_id, '--reason', 'bench'), 1);
  const revoked = `client_id = '${client.client_id}' and expires_at > unixepoch() and revoked_at is null`;
  await work('write its revocations', async () => undefined, { left: `select count(*) from grants where ${revoked}` });
  const events = count(path, 'select count(*) from audit_log');
  await work('verify the audit log', () => command('audit', 'verify'), events);
  await work('export the audit log', () => download(many, '/v1/admin/audit/export?format=jsonl'), events);
  await work('delete a client', () => command('clients', 'delete', other.client_id), {
    left: `select count(*) from grants where client_id = '${other.client_id}'`,
  });
  await work('sign a user out everywhere', () => command('users', 'sign-out', user_id), 1);
  await work('disable a user', () => command('users', 'disable', someUser, '--reason', 'bench'), 1);
  return works;
}

async function download({ address, newCookie }: Subject, path: string): Promise<void> {
  const cookie = await newCookie();
  const answer = await fetch(`http://localhost:${address.port}${path}`, { headers: { cookie } });
  if (!answer.ok || !answer.body) throw new Error(`${path} was answered with ${answer.status}.`);
  for await (const _ of answer.body); // as fast as it comes
}

async function watchWork(probe: Probe, name: string, work: () => Promise<Rows>): Promise<Work> {
  await probe.longest();
  const begunAt = performance.now();
  const rows = await work();
  return { name, ...rows, seconds: (performance.now() - begunAt) / 1000, key_set_ms: await probe.longest() };
}

/**
 * Waits until a query counts nothing any more, or for so many milliseconds. Jobs begin within a minute.
 * @returns what it counted last.
 * @throws when the number has not changed for two minutes.
 */
async function whenZero({ path, said }: Subject, query: string, atMostMs = Number.POSITIVE_INFINITY): Promise<number> {
  const begunAt = performance.now();
  let [left, changedAt] = [count(path, query), begunAt];
  while (left > 0 && performance.now() - begunAt < atMostMs) {
    const countedAt = performance.now();
    const now = count(path, query);
    if (now !== left) [left, changedAt] = [now, performance.now()];
    else if (performance.now() - changedAt > 120_000) throw new Error(`${left} rows are left of: ${query}\n${said()}`);
    // Counting millions takes a core; the server needs it more.
    await sleep(Math.max(500, (performance.now() - countedAt) * 10));
  }
  return left;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

type Result = Awaited<ReturnType<typeof measure>>;

function bytesPerGrant({ grants }: Result['tables']): number {
  return Math.round(grants!.bytes / grants!.rows);
}

function longestOf<Of extends { name: string; key_set_ms: number }>(measured: readonly Of[]): Of {
  return measured.reduce((longest, one) => (one.key_set_ms > longest.key_set_ms ? one : longest));
}

function missedTargets({ comparisons, works, start_ms, tables, rows_per_refresh }: Result): string[] {
  return [
    ...comparisons.filter(({ ratio }) => ratio > targets.ratio).map(({ name, ratio }) => `${name} ${ratio.toFixed(2)}`),
    ...[...works, ...comparisons]
      .filter(({ key_set_ms }) => key_set_ms > targets.key_set_ms)
      .map(({ name, key_set_ms }) => `key set ${Math.round(key_set_ms)} ms during "${name}"`),
    ...(start_ms.large > targets.start_ms ? [`start ${Math.round(start_ms.large)} ms`] : []),
    ...(rows_per_refresh > targets.rows_per_refresh ? [`${rows_per_refresh} rows a refresh`] : []),
    ...(bytesPerGrant(tables) > targets.bytes_per_grant ? [`${bytesPerGrant(tables)} bytes a grant`] : []),
  ];
}

function table(result: Result): string {
  const { comparisons, works, start_ms, tables, rows_per_refresh, wal_bytes } = result;
  const row = (name: string, ...cells: string[]) => name.padEnd(62) + cells.map((cell) => cell.padStart(12)).join('');
  return [
    row('ms', 'small', 'large', 'ratio'),
    ...comparisons
      .toSorted((a, b) => b.ratio - a.ratio)
      .map(({ name, small_ms, large_ms, ratio }) =>
        row(name, small_ms.toFixed(2), large_ms.toFixed(2), ratio.toFixed(2)),
      ),
    '',
    row('work on the large store', 'rows', 'left', 'seconds', 'key set ms'),
    ...works.map(({ name, rows, rows_left, seconds, key_set_ms }) =>
      row(name, `${rows}`, `${rows_left}`, seconds.toFixed(1), key_set_ms.toFixed(1)),
    ),
    row('all requests above', '', '', '', longestOf(comparisons).key_set_ms.toFixed(1)),
    '',
    `Start: ${Math.round(start_ms.small)} ms small, ${Math.round(start_ms.large)} ms large. ${bytesPerGrant(tables)} bytes a grant with its indexes. ${rows_per_refresh} rows a refresh. WAL at the end: ${wal_bytes} bytes.`,
    `Targets: ${targets.ratio} times, no stall over ${targets.key_set_ms} ms, start under ${targets.start_ms} ms, ${targets.bytes_per_grant} bytes a grant, ${targets.rows_per_refresh} rows a refresh.`,
  ].join('\n');
}
