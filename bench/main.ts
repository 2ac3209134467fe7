/** `npm run bench`: Signet beside its peer and beside the floor. What it measures and why it is fair: README.md. */
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { prepareBound } from './bound.ts';
import { freePort } from './child.ts';
import type { Contender, ContenderName } from './contender.ts';
import { startFloor } from './floor.ts';
import { connections, withFewer } from './load.ts';
import { flushTime, type Parts, usedByServer, type Window } from './parts.ts';
import { startPeer } from './peer.ts';
import { childrenOf, residentMemory } from './processor-time.ts';
import {
  boundScenarioNames,
  codeExchange,
  documentPaths,
  documentScenarios,
  newTokenCount,
  ownScenarios,
  prepare,
  relatives,
  type Scenario,
  type ScenarioName,
  scenarioNames,
  signInLoad,
  usualScenarioNames,
} from './scenarios.ts';
import { startSignet } from './signet.ts';
import { targets } from './targets.ts';
import { whereAndWhen } from './where-and-when.ts';
import { measureWindow } from './window.ts';

const help = `Usage: npm run bench -- [options]

  --quick         short windows, seven rounds, under 50 seconds in all
  --smoke         one round of a few requests each: whether it works, not how fast it is
  --rounds N      measured rounds (default 15; 7 with --quick)
  --only NAMES    scenarios, separated by commas: ${scenarioNames.join(',')}
  --window-ms N   length of a measurement (default 1000; 300 with --quick)
  --pause-ms N    before each, for what else the machine does (default 0)
  --json          the result as JSON on stdout, alone
  --check         exit with 1 when a figure misses its target
  --postgres      Signet on a PostgreSQL of its own, whose processor time is added to Signet's
  --fsync-ms N    beside a second Signet, whose flushes take N milliseconds more, as in a cloud (Linux, with a C compiler)
  --connections N requests in flight (default ${connections})
  --alone         without oidc-provider and the floor
  --workers N     beside another Signet, of N processes (SIGNET_WORKERS)
  --profile DIR   have the Signet server write a .cpuprofile there
  --help          this text

Progress goes to stderr. Needs no network and leaves nothing behind.`;

/** In the order of the table's columns, with their titles. */
const titles: Readonly<Record<ContenderName, string>> = {
  signet: 'signet',
  slow_disk: 'slow disk',
  workers: 'workers',
  oidc_provider: 'oidc-provider',
  floor: 'floor',
};
const contenderNames = Object.keys(titles) as ContenderName[];
/** With --smoke: more requests than connections, so that each of these is used again. */
const smokeRequests = 20;
const smokeConnections = 16;
/** The same of sign-ins, which have two connections and take a hash each. */
const smokeSignIns = 4;
const smokeTokens = { accessTokens: 10, families: smokeRequests };
/** After the load, until memory is read again: by then a server has returned what it returns by itself. */
const restMs = 15_000;
/** After so many seconds --quick starts no other round, however slow the machine is. */
const quickBudgetSeconds = 40;

const storeName = () => (options.postgres ? 'PostgreSQL' : 'SQLite');

type Entrant = { contender: Contender; scenarios: Partial<Record<ScenarioName, Scenario>> };
type Measurements = Partial<Record<ContenderName, Window>>;
type MeasurementTable = Partial<Record<ScenarioName, Measurements[]>>;

const options = readOptions();
const startedAt = performance.now();
const elapsed = () => (performance.now() - startedAt) / 1000;
const progress = (text: string) => process.stderr.write(`${elapsed().toFixed(1).padStart(6)} s  ${text}\n`);

const started: Contender[] = [];
const stopAll = () => Promise.allSettled(started.splice(0).map((contender) => contender.stop()));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await stopAll();
    process.exit(130);
  });
}

try {
  const entrants = await startAll();
  const rounds = await measureAll(entrants);
  const result = { ...summarize(rounds), ...(await footprints()) };
  if (options.json) console.log(JSON.stringify(result));
  else console.log(table(result, rounds));
  if (options.check && missed(result).length > 0) {
    console.error(`Missed: ${missed(result).join(', ')}`);
    process.exitCode = 1;
  }
} catch (error) {
  console.error(`The bench failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

function readOptions() {
  let values: ReturnType<typeof parse>['values'];
  try {
    ({ values } = parse());
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const rounds = Number(values.rounds ?? (values.smoke ? 1 : values.quick ? 7 : 15));
  if (!Number.isInteger(rounds) || rounds < 1) return refuse('--rounds takes a whole number from 1.');
  const fsyncMs = Number(values['fsync-ms'] ?? 0);
  if (!(fsyncMs >= 0 && fsyncMs <= 1000)) return refuse('--fsync-ms takes milliseconds, up to 1000.');
  const workers = Number(values.workers ?? 0);
  if (values.workers !== undefined && !(workers >= 2 && workers <= 64 && Number.isInteger(workers))) {
    return refuse('--workers takes a whole number from 2 to 64.');
  }
  const most = Number(values.connections ?? (values.smoke ? smokeConnections : connections));
  if (!(most >= 1 && most <= connections && Number.isInteger(most))) {
    return refuse(`--connections takes a whole number from 1 to ${connections}.`);
  }
  const windowMs = Number(values['window-ms'] ?? (values.quick ? 300 : 1000));
  if (!(windowMs >= 10 && windowMs <= 60_000)) return refuse('--window-ms takes milliseconds, from 10 to 60000.');
  const pauseMs = Number(values['pause-ms'] ?? 0);
  if (!(pauseMs >= 0 && pauseMs <= 60_000)) return refuse('--pause-ms takes milliseconds, up to 60000.');
  const only = values.only?.split(',') ?? [...(values.smoke ? scenarioNames : usualScenarioNames)];
  const unknown = only.find((name) => !scenarioNames.some((known) => known === name));
  if (unknown !== undefined) return refuse(`--only does not know ${unknown}.`);
  return {
    ...values,
    rounds,
    fsyncMs,
    workers,
    connections: most,
    scenarios: scenarioNames.filter((name) => only.includes(name)),
    profile: values.profile && resolve(values.profile),
    windowSeconds: windowMs / 1000,
    pauseMs,
  };
}

function parse() {
  return parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string' },
      postgres: { type: 'boolean', default: false },
      'fsync-ms': { type: 'string' },
      workers: { type: 'string' },
      alone: { type: 'boolean', default: false },
      'window-ms': { type: 'string' },
      'pause-ms': { type: 'string' },
      connections: { type: 'string' },
      profile: { type: 'string' },
    },
  });
}

function refuse(message: string): never {
  console.error(`${message}\n\n${help}`);
  process.exit(2);
}

async function startAll(): Promise<Entrant[]> {
  if (options.profile) await mkdir(options.profile, { recursive: true });
  const { profile, postgres, fsyncMs, workers, alone } = options;
  const layout = postgres ? ('one_part' as const) : undefined;
  const signet = { exchanges: expectedExchanges(), layout, say: progress };
  progress(`starting Signet (${storeName()} on disk)${alone ? '' : ', oidc-provider (in memory) and the floor'}`);
  const settled = await Promise.allSettled([
    freePort().then((port) => startSignet(port, profile, signet)),
    ...(fsyncMs ? [startAnotherSignet('slow_disk', { ...signet, fsyncMs })] : []),
    ...(workers ? [startAnotherSignet('workers', { ...signet, workers })] : []),
    ...(alone ? [] : [freePort().then((port) => startPeer(port, hasBound())), freePort().then(startFloor)]),
  ]);
  started.push(...settled.filter((one) => one.status === 'fulfilled').map((one) => one.value));
  const failure = settled.find((one) => one.status === 'rejected');
  if (failure) throw failure.reason;

  const entrants: Entrant[] = [];
  for (const contender of started) {
    await contender.copy?.(Object.values(documentPaths), started[0]!.address);
    entrants.push({ contender, scenarios: await scenariosOf(contender) });
  }
  return entrants;
}

async function startAnotherSignet(
  name: 'slow_disk' | 'workers',
  signet: Parameters<typeof startSignet>[2],
): Promise<Contender> {
  return { ...(await startSignet(await freePort(), undefined, signet)), name };
}

async function scenariosOf(contender: Contender): Promise<Entrant['scenarios']> {
  if (contender.name === 'floor') {
    const sign_in = signInLoad(contender.signIn!);
    return { code_exchange: codeExchange(contender), sign_in, ...documentScenarios(contender) };
  }
  const usual = await prepare(contender, options.smoke ? smokeTokens : undefined);
  const compared = hasBound()
    ? { ...usual, ...(await prepareBound(contender, options.smoke ? smokeRequests : undefined)) }
    : usual;
  return contender.name !== 'oidc_provider' ? { ...compared, ...ownScenarios(contender) } : compared;
}

function hasBound(): boolean {
  return boundScenarioNames.some((name) => options.scenarios.includes(name));
}

/** With the warm-up, at a rate that few machines exceed; beyond it, a client has more grants than are measured elsewhere. */
function expectedExchanges(): number {
  if (options.smoke) return smokeRequests;
  const isExchanging = options.scenarios.includes('code_exchange') || options.scenarios.includes('dpop_exchange');
  if (!isExchanging) {
    return options.scenarios.includes('userinfo_new') ? newTokenCount : 1;
  }
  return Math.ceil((options.rounds * options.windowSeconds + 2) * 4_000);
}

/** Rounds of scenarios of contenders: neighbours in time are what is compared, so a slow minute hits both. */
async function measureAll(entrants: Entrant[]): Promise<MeasurementTable> {
  const pace = options.smoke ? samePace(entrants) : await warmUp(entrants);
  const rounds: MeasurementTable = {};
  let longestRound = 0;
  for (let round = 0; round < options.rounds; round += 1) {
    if (options.quick && round > 0 && elapsed() + longestRound > quickBudgetSeconds) {
      progress(`stopping after ${round} rounds to stay quick`);
      break;
    }
    const roundStart = elapsed();
    for (const name of options.scenarios) {
      const measured: Measurements = {};
      // Another one goes first in each round, so that nobody always follows the same neighbour.
      const order = entrants.map((_, place) => entrants[(place + round) % entrants.length]!);
      for (const { contender, scenarios } of order) {
        const scenario = scenarios[name];
        const count = pace.get(`${contender.name} ${name}`);
        if (!scenario || !count) continue;
        measured[contender.name] = await measure(contender, name, scenario, count);
      }
      rounds[name] = [...(rounds[name] ?? []), measured];
      progress(`round ${round + 1} of ${options.rounds}  ${name.padEnd(14)} ${describe(measured)}`);
    }
    longestRound = Math.max(longestRound, elapsed() - roundStart);
  }
  return rounds;
}

/**
 * Lets every server compile its hot paths, and finds out how many requests fill a window.
 * @returns requests per window, by contender and scenario.
 */
async function warmUp(entrants: Entrant[]): Promise<Map<string, number>> {
  const pace = new Map<string, number>();
  for (const name of options.scenarios) {
    for (const { contender, scenarios } of entrants) {
      const scenario = scenarios[name];
      if (!scenario) continue;
      let rate = 1000;
      for (const seconds of [0.3, 0.5, options.windowSeconds]) {
        ({ rate } = await measure(contender, name, scenario, Math.ceil(rate * seconds)));
      }
      pace.set(`${contender.name} ${name}`, Math.ceil(rate * options.windowSeconds));
    }
  }
  progress(`warm, ${options.connections} connections, windows of about ${options.windowSeconds} s`);
  return pace;
}

function samePace(entrants: Entrant[]): Map<string, number> {
  return new Map(
    entrants.flatMap(({ contender, scenarios }) =>
      Object.keys(scenarios).map(
        (name) => [`${contender.name} ${name}`, name === 'sign_in' ? smokeSignIns : smokeRequests] as const,
      ),
    ),
  );
}

async function measure(contender: Contender, name: ScenarioName, scenario: Scenario, count: number): Promise<Window> {
  try {
    const load = await scenario(count);
    await sleep(options.pauseMs);
    return await measureWindow(contender, withFewer(load, options.connections));
  } catch (cause) {
    throw new Error(`${name} of ${contender.name}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

function describe(measured: Measurements): string {
  return Object.entries(measured)
    .sort(([a], [b]) => b.localeCompare(a))
    .map(([name, { rate }]) => `${name} ${Math.round(rate)}/s`)
    .join('  ');
}

type Result = ReturnType<typeof summarize> & Awaited<ReturnType<typeof footprints>>;

/** What the servers need besides processor time. */
async function footprints() {
  const signet = started.find(({ name }) => name === 'signet')?.footprint;
  const ofAll = (pid: number) => [pid, ...childrenOf(pid)].map(residentMemory).reduce((sum, memory) => sum + memory);
  const memory = () => Object.fromEntries(started.map(({ name, pid }) => [name, ofAll(pid)]));
  const memory_mb = memory();
  if (options.smoke || options.quick) return { ...signet, memory_mb, rested_mb: undefined };
  await sleep(restMs);
  return { ...signet, memory_mb, rested_mb: memory() };
}

function summarize(rounds: MeasurementTable) {
  type Figures = Partial<Record<ContenderName, Partial<Record<ScenarioName, number>>>>;
  const rates: Figures = {};
  const processor_us: Figures = {};
  const parts_us: Partial<Record<ContenderName, Partial<Record<ScenarioName, Parts>>>> = {};
  const quietest: Partial<Record<ContenderName, Partial<Record<ScenarioName, Window>>>> = {};
  const ratios: Record<keyof typeof targets.ratios, Partial<Record<ScenarioName, number>>> = {
    oidc_provider: {},
    floor: {},
    relative: {},
  };
  for (const name of options.scenarios) {
    const measured = rounds[name] ?? [];
    for (const contender of contenderNames) {
      const windows = measured.map((round) => round[contender]).filter((one) => one !== undefined);
      if (windows.length === 0) continue;
      rates[contender] = { ...rates[contender], [name]: Math.round(median(windows.map(({ rate }) => rate))) };
      const least = windows.map(({ parts }) => parts).reduce((a, b) => (usedByServer(b) < usedByServer(a) ? b : a));
      processor_us[contender] = { ...processor_us[contender], [name]: Math.round(usedByServer(least)) };
      parts_us[contender] = { ...parts_us[contender], [name]: least };
      const alone = windows.reduce((a, b) => (b.others < a.others ? b : a));
      quietest[contender] = { ...quietest[contender], [name]: { ...alone, rate: Math.round(alone.rate) } };
    }
    for (const other of ['oidc_provider', 'floor'] as const) {
      if (rates[other]?.[name]) ratios[other][name] = ratio(measured, other);
    }
    const relative = rounds[relatives[name]!];
    if (relative) {
      const both = measured.map(({ signet }, round) => ({ signet, relative: relative[round]?.signet }));
      ratios.relative[name] = ratio(both, 'relative');
    }
  }
  const beside = (another: 'slow_disk' | 'workers') =>
    Object.fromEntries(options.scenarios.map((name) => [name, ratio(rounds[name] ?? [], 'signet', another)]));
  const count = rounds[options.scenarios[0]!]?.length ?? 0;
  const store = options.postgres ? 'postgres' : 'sqlite';
  return {
    ...whereAndWhen('bench'),
    store,
    fsync_ms: options.fsyncMs,
    flush_ms: flushTime(),
    connections: options.connections,
    ratios,
    ...(options.fsyncMs > 0 && { slow_disk: beside('slow_disk') }),
    ...(options.workers > 0 && { processes: options.workers, workers: beside('workers') }),
    rates,
    processor_us,
    parts_us,
    quietest,
    rounds: count,
  };
}

/** The median of the rounds' ratios, not the ratio of the medians: only neighbours in time compare. */
function ratio(
  rounds: Partial<Record<ContenderName | 'relative', Window | undefined>>[],
  other: ContenderName | 'relative',
  one: ContenderName = 'signet',
): number {
  const values = rounds.map((measured) => (measured[one]?.rate ?? Number.NaN) / (measured[other]?.rate ?? Number.NaN));
  return Math.round(median(values) * 100) / 100;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** @returns a sentence for each figure that misses its target. One that was not measured is not looked at. */
function missed({
  ratios,
  slow_disk,
  workers,
  processor_us,
  rested_mb,
  first_start_ms,
  later_start_ms,
  idle_mb,
  wal_bytes,
}: Result): string[] {
  const { postgres } = options;
  const footprint = { first_start_ms, later_start_ms, idle_mb, wal_bytes, rested_mb: rested_mb?.signet };
  const least: Record<keyof typeof ratios, Record<string, number>> = postgres
    ? { ...targets.ratios, oidc_provider: targets.postgres.oidc_provider, floor: {} }
    : targets.ratios;
  const sign_in = (processor_us.signet?.sign_in ?? Number.NaN) / (processor_us.floor?.sign_in ?? Number.NaN);
  const exchange_us = postgres ? (processor_us.signet?.code_exchange ?? 0) : 0;
  return [
    ...(['oidc_provider', 'floor', 'relative'] as const).flatMap((other) =>
      Object.entries(least[other])
        .map(([name, least]) => ({ name, least, value: (ratios[other] as Record<string, number | undefined>)[name] }))
        .filter(({ least, value }) => value !== undefined && !(value >= least))
        .map(({ name, least, value }) => {
          const compared = other === 'relative' ? relatives[name as ScenarioName] : other;
          return `${name} ${value} of ${compared} (target ${least})`;
        }),
    ),
    ...(sign_in > targets.sign_in ? [`sign_in ${sign_in.toFixed(2)} of its hash (target ${targets.sign_in})`] : []),
    ...((slow_disk?.code_exchange ?? 1) < targets.slow_disk
      ? [`code_exchange ${slow_disk?.code_exchange} of that on a fast disk (target ${targets.slow_disk})`]
      : []),
    ...Object.entries(workers ?? {})
      .filter(([name, value]) => value < ((targets.workers as Record<string, number>)[name] ?? 0))
      .map(([name, value]) => `${name} ${value} of that of one process`),
    ...(exchange_us > targets.postgres.exchange_us
      ? [`code_exchange ${exchange_us} µs with its database (target ${targets.postgres.exchange_us})`]
      : []),
    ...(['first_start_ms', 'later_start_ms', 'idle_mb', 'rested_mb', 'wal_bytes'] as const)
      .filter((name) => (footprint[name] ?? 0) > targets.footprint[name])
      .map((name) => `${name} ${footprint[name]} (target ${targets.footprint[name]})`),
  ];
}

function table(result: Result, measured: MeasurementTable): string {
  const { ratios, rates, processor_us, rounds, memory_mb, rested_mb } = result;
  const row = (...cells: string[]) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(15) : cell.padStart(15))).join('');
  const times = (value: number | undefined) => (value === undefined ? '' : `${value.toFixed(2)} x`);
  const spread = (name: ScenarioName) => {
    if (ratios.oidc_provider[name] === undefined) return '';
    const values = (measured[name] ?? []).map((one) => (one.signet?.rate ?? 0) / (one.oidc_provider?.rate ?? 1));
    return `${Math.min(...values).toFixed(2)}-${Math.max(...values).toFixed(2)}`;
  };
  const shown = contenderNames.filter((name) => started.some((contender) => contender.name === name));
  return [
    '',
    row('requests/s', ...shown.map((name) => titles[name]), 'to the peer', '(min-max)', 'to the floor'),
    ...options.scenarios.map((name) =>
      row(
        name,
        ...shown.map((contender) => `${rates[contender]?.[name] ?? ''}`),
        times(ratios.oidc_provider[name]),
        spread(name),
        times(ratios.floor[name]),
        ratios.relative[name] === undefined ? '' : `${times(ratios.relative[name])} ${relatives[name]}`,
      ),
    ),
    '',
    row('processor µs', ...shown.map((name) => titles[name])),
    ...options.scenarios.map((name) =>
      row(name, ...shown.map((contender) => `${processor_us[contender]?.[name] || ''}`)),
    ),
    row('MB under load', ...shown.map((contender) => `${memory_mb[contender] || ''}`)),
    ...(rested_mb ? [row('MB after load', ...shown.map((contender) => `${rested_mb[contender] || ''}`))] : []),
    '',
    `Signet starts in ${result.first_start_ms} ms for the first time and in ${result.later_start_ms} ms later, and idles with ${result.idle_mb} MB.`,
    `A code with its tokens adds ${result.wal_bytes} bytes to its write-ahead log.`,
    `Medians over ${rounds} rounds on ${availableParallelism()} cores, ${options.connections} connections. Targets missed: ${missed(result).join(', ') || 'none'}.`,
    `Signet flushes every change to its disk before it answers (${storeName()}); the peer keeps everything in memory.`,
  ].join('\n');
}
