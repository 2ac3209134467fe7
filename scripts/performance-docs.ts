/**
 * Draws docs/performance.md, its charts and the figures of docs/scaling.md from what both benches have measured:
 *
 *   npm run docs:performance
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Layout, layouts } from '../bench/database.ts';
import type { LayoutsResult } from '../bench/layouts.ts';
import { type Parts, usedByServer, type Window } from '../bench/parts.ts';
import type { ScaleResult } from '../bench/scale/answers.ts';
import { kinds } from '../bench/scale/costs.ts';
import { targets } from '../bench/targets.ts';
import { type Chart, drawChart } from './bar-chart.ts';
import { markdownTable, nameOf, whole } from './performance-text.ts';
import { scalingFigures } from './scaling-figures.ts';

const docs = join(import.meta.dirname, '../docs');
const folder = join(docs, 'performance');

type Measured = { command: string; date: string; machine: string };
type Figures = Record<string, number>;
/** What `npm run bench -- --json` writes. */
export type Bench = Measured & {
  fsync_ms: number;
  rounds: number;
  ratios: Record<string, Figures>;
  /** With `--fsync-ms`: rates on the slow disk as a part of those without delay. */
  slow_disk?: Figures;
  /** With `--workers`: rates of so many processes as a multiple of those of one. */
  workers?: Figures;
  rates: Record<string, Figures>;
  processor_us: Record<string, Figures>;
  /** The same by who used it. */
  parts_us?: Record<string, Record<string, Parts>>;
  /** The rounds in which other work had least of the machine. */
  quietest?: Record<string, Record<string, Window>>;
  /** With `--workers`: so many. */
  processes?: number;
  /** Of the disk that the stores are on, for a flush. */
  flush_ms?: number;
  /** In flight at any moment. */
  connections?: number;
  first_start_ms: number;
  later_start_ms: number;
  idle_mb: number;
  /** Of the write-ahead log, for a code and its exchange. */
  wal_bytes: number;
  /** At the end of the load. */
  memory_mb: Figures;
  /** Fifteen seconds later. */
  rested_mb: Figures;
};
/** What `npm run bench:size -- --json` writes. */
export type Size = Measured & {
  users: number;
  small_users: number;
  grants: number;
  comparisons: { name: string; small_ms: number; large_ms: number; ratio: number; key_set_ms: number }[];
  works: { name: string; seconds: number; rows: number; rows_left: number; key_set_ms: number }[];
  start_ms: { small: number; large: number };
  tables: Record<string, { rows: number; bytes: number }>;
  rows_per_refresh: number;
  wal_bytes: number;
};
/** Who uses the processor: with the bench's connections, and with two, so that each request is nearly alone. */
export type PartsRun = Bench & Required<Pick<Bench, 'parts_us' | 'flush_ms' | 'connections'>>;
/** What a round gave and what it took, with one process and with several. */
export type WindowsRun = Bench & Required<Pick<Bench, 'quietest' | 'flush_ms' | 'connections' | 'processes'>>;
/** What `npm run bench:status-lists -- --json` writes. */
export type StatusLists = Measured & {
  sizes: { tokens: number; processes: number; lists: number; bytes: number }[];
  exchange: { pairs: number; rate_ratio: number; processor_ratio: number; processor_ratio_error: number };
  revocation: {
    single: { revocations: number; slowest_s: number; middle_s: number };
    mass: { grants: number; all_in_list_s: number; refused_s: number }[];
  };
};
export type Results = {
  statusLists: StatusLists;
  bench: Bench;
  slowDisk: Bench;
  workers: Bench;
  postgres: Bench;
  parts: Readonly<Record<'sqlite' | 'sqlite_few' | 'postgres' | 'postgres_few', PartsRun>>;
  windows: Readonly<Record<'sqlite' | 'postgres', WindowsRun>>;
  layouts: LayoutsResult;
  size: Size;
  /** What `npm run simulate -- --scale --json` made of these. */
  scale: ScaleResult;
};

const decimal = (value: number): string => value.toFixed(2);

/** A figure and its target, as a row of a table. */
type Aim = { figure: string; measured: string; target: string; isReached: boolean };

const atLeast = (figure: string, value: number, target: number, unit: string, format = decimal): Aim => ({
  figure,
  measured: `${format(value)}${unit}`,
  target: `at least ${target}${unit}`,
  isReached: value >= target,
});
const atMost = (figure: string, value: number, target: number, unit: string, format = whole): Aim => ({
  figure,
  measured: `${format(value)}${unit}`,
  target: `at most ${target.toLocaleString('en').replaceAll(',', ' ')}${unit}`,
  isReached: value <= target,
});

const targetOf = (other: string, scenario: string): number | undefined =>
  (targets.ratios as Record<string, Figures>)[other]?.[scenario];

const bytesOfRow = ({ tables }: Size, name: string): number =>
  tables[name] ? tables[name].bytes / tables[name].rows : 0;

function aims(results: Results): Aim[] {
  const { bench, workers, postgres, size } = results;
  const { footprint } = targets;
  const onSlowDisk = results.slowDisk.slow_disk?.code_exchange;
  const slowest = size.comparisons.toSorted((a, b) => b.ratio - a.ratio)[0];
  const longest = [longestOf(size.comparisons), ...size.works].toSorted((a, b) => b.key_set_ms - a.key_set_ms)[0]!;
  return [
    ...Object.entries(bench.ratios).flatMap(([other, ratios]) =>
      Object.entries(ratios).flatMap(([scenario, ratio]) => {
        const target = targetOf(other, scenario);
        const figure = `${nameOf(scenario)}, as a multiple of ${nameOf(other)}`;
        return target === undefined ? [] : [atLeast(figure, ratio, target, ' ×')];
      }),
    ),
    ...Object.entries(targets.postgres.oidc_provider).map(([scenario, target]) => {
      const figure = `${nameOf(scenario)} on PostgreSQL, as a multiple of oidc-provider`;
      return atLeast(figure, postgres.ratios.oidc_provider?.[scenario] ?? 0, target, ' ×');
    }),
    atMost(
      'processor time of a code exchange on PostgreSQL, with its database',
      postgres.processor_us.signet?.code_exchange ?? Number.NaN,
      targets.postgres.exchange_us,
      ' µs',
    ),
    atMost(
      'processor time of a sign-in, as a multiple of its password hash',
      (bench.processor_us.signet?.sign_in ?? Number.NaN) / (bench.processor_us.floor?.sign_in ?? Number.NaN),
      targets.sign_in,
      ' ×',
      decimal,
    ),
    ...(onSlowDisk === undefined
      ? []
      : [atLeast('code exchange on a slow disk, as a part of that on a fast one', onSlowDisk, targets.slow_disk, '')]),
    ...Object.entries(targets.workers).map(([scenario, target]) =>
      atLeast(
        `${nameOf(scenario)} with two processes, as a multiple of one`,
        workers.workers?.[scenario] ?? 0,
        target,
        ' ×',
      ),
    ),
    atMost('first start, with a new folder', bench.first_start_ms, footprint.first_start_ms, ' ms'),
    atMost('later start', bench.later_start_ms, footprint.later_start_ms, ' ms'),
    atMost('resident memory before the first request', bench.idle_mb, footprint.idle_mb, ' MB'),
    atMost('resident memory after the load', bench.rested_mb.signet ?? Number.NaN, footprint.rested_mb, ' MB'),
    atMost('write-ahead log of a code with its tokens', bench.wal_bytes, footprint.wal_bytes, ' bytes'),
    atMost(
      'write-ahead log of a code with its tokens on PostgreSQL',
      postgres.wal_bytes,
      footprint.wal_bytes,
      ' bytes',
    ),
    atMost(
      `slowest request beside a small store (${slowest?.name})`,
      slowest?.ratio ?? 0,
      targets.size.ratio,
      ' ×',
      decimal,
    ),
    atMost(`longest answer of the key set (${longest.name})`, longest.key_set_ms, targets.size.key_set_ms, ' ms'),
    atMost('start with the large store', size.start_ms.large, targets.size.start_ms, ' ms'),
    atMost('disk for a grant', bytesOfRow(size, 'grants'), targets.size.bytes_per_grant, ' bytes'),
    atMost('rows that a refresh adds', size.rows_per_refresh, targets.size.rows_per_refresh, ''),
  ];
}

/** Comparisons that a chart has room for. */
const shownComparisons = 12;
const longestOf = (comparisons: Size['comparisons']) => comparisons.toSorted((a, b) => b.key_set_ms - a.key_set_ms)[0]!;

const slowestOf = ({ comparisons }: Size) =>
  comparisons.toSorted((a, b) => b.ratio - a.ratio).slice(0, shownComparisons);

/** Every chart by the name of its file. */
export function charts(results: Results): ReadonlyMap<string, string> {
  const { bench, slowDisk, workers, size } = results;
  const all: Record<string, Chart> = {
    rates: {
      title: 'Answers per second',
      unit: 'answers per second; longer is better',
      groups: byScenario(bench.rates, whole),
    },
    ratios: {
      title: 'Signet as a multiple of other servers',
      unit: 'times as many answers per second; longer is better',
      groups: Object.entries(bench.ratios).flatMap(([other, ratios]) =>
        Object.entries(ratios).map(([scenario, value]) => ({
          label: `${nameOf(scenario)}, beside ${nameOf(other)}`,
          bars: [{ series: 'signet', value, text: `${decimal(value)} ×` }],
          ...(targetOf(other, scenario) !== undefined && { target: { least: targetOf(other, scenario)! } }),
        })),
      ),
    },
    processor: {
      title: 'Processor time of one answer',
      unit: 'microseconds; shorter is better',
      groups: byScenario(bench.processor_us, whole),
    },
    'slow-disk': {
      title: `With a disk whose flushes take ${slowDisk.fsync_ms} ms more`,
      unit: 'part of the answers per second without the delay; longer is better',
      groups: Object.entries(slowDisk.slow_disk ?? {}).map(([scenario, value]) => ({
        label: nameOf(scenario),
        bars: [{ series: 'signet', value, text: decimal(value) }],
        ...(scenario === 'code_exchange' && { target: { least: targets.slow_disk } }),
      })),
    },
    workers: {
      title: 'Two processes as a multiple of one',
      unit: 'times as many answers per second; longer is better',
      groups: Object.entries(workers.workers ?? {}).map(([scenario, value]) => ({
        label: nameOf(scenario),
        bars: [{ series: 'signet', value, text: `${decimal(value)} ×` }],
        target: { least: (targets.workers as Figures)[scenario] ?? 1 },
      })),
    },
    size: {
      title: `${whole(size.users)} users beside ${whole(size.small_users)}: the ${shownComparisons} requests that differ most`,
      unit: 'times as long as with the small store; shorter is better',
      groups: slowestOf(size).map(({ name, ratio }) => ({
        label: nameOf(name),
        bars: [{ series: 'signet', value: ratio, text: `${decimal(ratio)} ×` }],
        target: { most: targets.size.ratio },
      })),
    },
    'key-set': {
      title: 'The longest answer of the key set during work over many rows',
      unit: 'milliseconds; shorter is better',
      groups: [...size.works, { ...longestOf(size.comparisons), name: 'all requests' }].map(({ name, key_set_ms }) => ({
        label: name,
        bars: [{ series: 'signet', value: key_set_ms, text: `${key_set_ms.toFixed(1)} ms` }],
        target: { most: targets.size.key_set_ms },
      })),
    },
  };
  return new Map(Object.entries(all).map(([name, chart]) => [`${name}.svg`, drawChart(chart)]));
}

/** A group for each scenario, with a bar for each server. Zero is what could not be measured. */
function byScenario(figures: Record<string, Figures>, format: (value: number) => string): Chart['groups'] {
  const scenarios = Object.keys(figures.signet ?? {});
  return scenarios.map((scenario) => ({
    label: nameOf(scenario),
    bars: Object.entries(figures).flatMap(([server, of]) => {
      const value = of[scenario];
      return value ? [{ series: server, value, text: `${format(value)} ${nameOf(server)}` }] : [];
    }),
  }));
}

const code = (command: string): string => `\`\`\`sh\n${command}\n\`\`\``;

/** Parts of the processor time of an answer, and how many times as much one takes that is alone. */
function partsTable({ parts }: Results): string {
  const engines = { sqlite: 'on SQLite', postgres: 'on PostgreSQL' } as const;
  const percent = (part: number, of: number) => `${whole((100 * part) / of)} %`;
  const rows = (['sqlite', 'postgres'] as const).flatMap((engine) =>
    kinds.map((kind) => {
      const [many, few] = [parts[engine].parts_us.signet![kind]!, parts[`${engine}_few`].parts_us.signet![kind]!];
      const [all, alone] = [usedByServer(many), usedByServer(few)];
      return [
        `${nameOf(kind)} ${engines[engine]}`,
        percent(many.event_loop, all),
        percent(many.threads, all),
        engine === 'postgres' ? percent(many.database, all) : '',
        kind === 'sign_in' ? '' : `${(alone / all).toFixed(1)} ×`,
      ];
    }),
  );
  const few = parts.sqlite_few.connections;
  return markdownTable(['processor time', 'event loop', 'other threads', 'PostgreSQL', `with ${few} in flight`], rows);
}

/** Signet and PostgreSQL together, of a store that lies in several ways. */
function layoutsTable({ layouts: { parts_us, ratios } }: Results): string {
  const together = (layout: Layout, kind: string) => whole(usedByServer(parts_us[layout][kind as 'refresh']));
  return markdownTable(
    [
      'processor µs',
      ...layouts.map((layout) => nameOf(layout)),
      'cells beside one part',
      'two servers beside one part',
    ],
    Object.keys(parts_us.one_part).map((kind) => [
      nameOf(kind),
      ...layouts.map((layout) => together(layout, kind)),
      `${decimal(ratios.cells[kind as 'refresh'])} ×`,
      `${decimal(ratios.two_servers[kind as 'refresh'])} ×`,
    ]),
  );
}

const measuredOn = ({ date, machine, command }: Measured): string =>
  `Measured on ${date}, on ${machine}, by\n\n${code(command)}`;

function rateTable({ rates, processor_us, ratios }: Bench): string {
  const servers = Object.keys(rates);
  return markdownTable(
    [
      'answers per second',
      ...servers.map(nameOf),
      ...Object.keys(ratios).map((other) => `times ${nameOf(other)}`),
      'processor µs',
    ],
    Object.keys(rates.signet ?? {}).map((scenario) => [
      nameOf(scenario),
      ...servers.map((server) => (rates[server]?.[scenario] ? whole(rates[server][scenario]) : '')),
      ...Object.values(ratios).map((of) => (of[scenario] ? decimal(of[scenario]) : '')),
      processor_us.signet?.[scenario] ? whole(processor_us.signet[scenario]) : '',
    ]),
  );
}

/** What is left of the time for an answer at the targets, once a bare server has taken its part. */
function withinReach({ bench, workers }: Results): string {
  const { oidc_provider, floor } = bench.rates;
  const { processor_us } = bench;
  const rate = (of: string) => oidc_provider?.[of] ?? Number.NaN;
  const spent = (server: string, of: string) => whole(processor_us[server]?.[of] ?? Number.NaN);
  const target = (of: string) => targetOf('oidc_provider', of) ?? Number.NaN;
  const ofTwo = (of: string) =>
    decimal((workers.rates.workers?.[of] ?? Number.NaN) / (workers.rates.oidc_provider?.[of] ?? Number.NaN));
  const left = (of: string) => whole(1_000_000 / (rate(of) * target(of)));
  return `How far that is: an event loop has one processor, so ${target('userinfo')} times the userinfo of \`oidc-provider\` leaves ${left('userinfo')} µs for an
answer, and ${target('introspect')} times its introspection ${left('introspect')} µs. A bare \`node:http\` server that sends fixed bytes takes ${spent('floor', 'key_set')} of them, Signet
${spent('signet', 'userinfo')} and ${spent('signet', 'introspect')}. The floor, which signs two tokens and stores nothing, gives ${decimal((floor?.code_exchange ?? Number.NaN) / rate('code_exchange'))} times its code exchanges.
Two processes give ${ofTwo('userinfo')} times its userinfo and ${ofTwo('introspect')} times its introspections.`;
}

function performancePage(results: Results): string {
  const { bench, slowDisk, workers, postgres, parts, size, statusLists } = results;
  const { exchange } = statusLists;
  const { single, mass } = statusLists.revocation;
  const all = aims(results);
  const missed = all.filter(({ isReached }) => !isReached);
  const memoryOf = (server: string, memory = bench.memory_mb) => whole(memory[server] ?? Number.NaN);
  const within = size.comparisons.filter(({ ratio }) => ratio <= targets.size.ratio).length;
  return `<!-- Made by npm run docs:performance from performance/*.json. Change scripts/performance-docs.ts instead. -->

# Performance

What Signet was measured to do, and what it should. [bench/README.md](../bench/README.md) says what is measured, and how fair
it is to the others; [scaling.md](scaling.md) derives from it what so many people need. Figures apply to the machine that they
were measured on, where the load generator shares its cores with the servers: measure on yours before you rely on them.

## Targets

${
  missed.length === 0
    ? 'Every target is reached.'
    : `**${missed.length} of ${all.length} targets are not reached.** They come first in the table, and the charts mark them.`
}

${markdownTable(
  ['figure', 'measured', 'target', 'reached'],
  [...missed, ...all.filter(({ isReached }) => isReached)].map(({ figure, measured, target, isReached }) => [
    figure,
    measured,
    target,
    isReached ? 'yes' : '**no**',
  ]),
)}

${withinReach(results)}

## Token requests

Signet on SQLite, with every change on disk before its answer, beside \`oidc-provider\`, which keeps everything in memory, and
beside a bare \`node:http\` server that signs the same two tokens and stores nothing (the floor). Medians
of ${bench.rounds} rounds.

![Answers per second of each server for each kind of request](performance/rates.svg)

![How many times as many answers Signet gives as the others, with the targets](performance/ratios.svg)

![Processor time that each server uses for one answer](performance/processor.svg)

${rateTable(bench)}

Signet answers first ${whole(bench.first_start_ms)} ms after its start with a new folder, and ${whole(bench.later_start_ms)} ms after a later one. Its resident
memory is ${whole(bench.idle_mb)} MB before the first request, ${memoryOf('signet')} MB at the end of the load, and ${memoryOf('signet', bench.rested_mb)} MB fifteen seconds later; that of \`oidc-provider\` is
${memoryOf('oidc_provider')} and ${memoryOf('oidc_provider', bench.rested_mb)} MB then.

${measuredOn(bench)}

## On PostgreSQL

The same with a PostgreSQL of its own defaults on the same machine, which flushes every commit. Its processor time is added to
that of Signet.

${rateTable(postgres)}

${measuredOn(postgres)}

## Who uses the processor

How much of the processor time of an answer the event loop uses, other threads, which sign and hash, and PostgreSQL; and how many times as
much it takes when only ${parts.sqlite_few.connections} requests are in flight, so that hardly anything is shared. The machine had other work
meanwhile, so only ratios are taken from these runs.

${partsTable(results)}

Measured on ${parts.sqlite.date}, on ${parts.sqlite.machine}, by

${code(
  Object.values(parts)
    .map(({ command }) => command)
    .join('\n'),
)}

## In cells, and on two servers

How much processor time an answer takes of Signet and its PostgreSQL together when the store is in one part, in
[eight cells](cells.md) of one server, and in eight cells of which two servers have four each. The requests of ${results.layouts.people} people come in turn,
${results.layouts.connections} in flight. What many ask of a cell becomes one statement, so eight cells have more statements with less in each. The three take turns within
each of ${results.layouts.rounds} rounds; the figures are those of the middle round, the ratios the middle ones of the rounds. The machine had other work, which
makes each request dearer, so the ratios are what to read.

${layoutsTable(results)}

${measuredOn(results.layouts)}

## A slower disk

Disks of cloud machines take a few milliseconds for a flush. Here each flush of a second Signet takes ${slowDisk.fsync_ms} ms more than
the disk needs, and both are measured in turn. The figure is the part of the answers per second that is left, the median of the rounds.

![The part of the answers per second that is left on a slow disk](performance/slow-disk.svg)

${measuredOn(slowDisk)}

## Two processes

\`SIGNET_WORKERS=2\` beside one process, on one SQLite store. Token requests gain little on two processors, which one process
uses as well, since it signs and flushes in threads of its own; what only reads gains more. Together the processes have ${memoryOf('workers', workers.rested_mb)} MB of resident memory after the load.

![Answers per second of two processes as a multiple of one](performance/workers.svg)

${measuredOn(workers)}

## A large store

Every request on a store with ${whole(size.users)} users and ${whole(size.grants)} grants beside one with ${whole(size.small_users)} users. Of ${size.comparisons.length} requests, ${within} take
at most ${targets.size.ratio} times as long. These differ most:

![The requests that differ most between the large and the small store](performance/size.svg)

${markdownTable(
  ['ms', 'small store', 'large store', 'ratio'],
  slowestOf(size).map(({ name, small_ms, large_ms, ratio }) => [
    `\`${name}\``,
    decimal(small_ms),
    decimal(large_ms),
    decimal(ratio),
  ]),
)}

Meanwhile, and during work over many rows, the key set is requested every 2 ms. The longest answer shows whether anything kept
the server from answering. What is left after a few minutes is done later, at the same pace.

![The longest answer of the key set during each piece of work](performance/key-set.svg)

${markdownTable(
  ['work', 'rows', 'left', 'seconds', 'longest answer of the key set, ms'],
  size.works.map(({ name, rows, rows_left, seconds, key_set_ms }) => [
    name,
    whole(rows),
    whole(rows_left),
    seconds.toFixed(1),
    key_set_ms.toFixed(1),
  ]),
)}

On disk, with all indexes:

${markdownTable(
  ['table', 'rows', 'bytes of a row'],
  Object.entries(size.tables).map(([name, { rows, bytes }]) => [`\`${name}\``, whole(rows), whole(bytes / rows)]),
)}

${measuredOn(size)}

## Lists of revoked tokens

An API that checks tokens by itself knows revoked ones from [a list](apis.md#know-revoked-tokens). So large are the lists of one hour's tokens of which
1 % are revoked:

${markdownTable(
  ['tokens', 'processes', 'lists', 'bytes of all lists'],
  statusLists.sizes.map(({ tokens, processes, lists, bytes }) => [
    whole(tokens),
    whole(processes),
    whole(lists),
    whole(bytes),
  ]),
)}

A code exchange whose tokens carry a status takes ${decimal(exchange.processor_ratio)} times the processor time of one without, give or take ${decimal(exchange.processor_ratio_error)}: the
mean of ${exchange.pairs} pairs on one server, in turn, and its standard error. The machine had other work, so the answers per second of a pair, ${decimal(exchange.rate_ratio)} times in the
middle, say little.

An API that reads nothing but lists refused a revoked token ${single.slowest_s.toFixed(1)} s after the answer of the revocation at most, ${single.middle_s.toFixed(1)} s in the middle of ${single.revocations}
revocations that came one after the other. After the suspension of an app

${markdownTable(
  ['with grants', 'the API refused the token that was asked about after', 'all of them were in the list after'],
  mass.map((one) => [whole(one.grants), `${one.refused_s.toFixed(1)} s`, `${one.all_in_list_s.toFixed(1)} s`]),
)}

An API refuses the last of them up to 15 s after they are in the list, and up to 15 s later still behind a cache whose \`Age\` it does not
subtract. The machine had other work, and the server made what so many new rows need.

${measuredOn(statusLists)}

## Measure again

Replace \`performance/status-lists.json\`, \`performance/bench.json\`, \`performance/bench-postgres.json\`, \`performance/bench-slow-disk.json\`, \`performance/bench-workers.json\`, \`performance/parts.json\`, \`performance/parts-few.json\`,
\`performance/parts-postgres.json\`, \`performance/parts-postgres-few.json\`, \`performance/layouts.json\` and \`performance/size.json\` by what the commands above
write to standard output, on a machine without other work, as well as \`performance/windows.json\` and
\`performance/windows-postgres.json\`, whose commands [scaling.md](scaling.md#the-model) has, and then \`performance/scale.json\` by what \`npm run simulate -- --scale --json\`
writes, which [scaling.md](scaling.md) takes its tables from. Then this draws the page and its charts, and a test checks that
they are what it draws:

${code('npm run docs:performance')}
`;
}

/** A page that is written by hand, with the figures between their marks. */
function withFigures(page: string, figures: Readonly<Record<string, string>>): string {
  return page.replace(
    /(<!-- figures: (\w+) -->\n).*?(<!-- end -->)/gs,
    (_, begin: string, name: string, end: string) => {
      if (figures[name] === undefined) throw new Error(`There are no figures "${name}".`);
      return `${begin}\n${figures[name]}\n\n${end}`;
    },
  );
}

/** Every file by its path below `docs`. */
export function pages(results: Results): ReadonlyMap<string, string> {
  const scaling = readFileSync(join(docs, 'scaling.md'), 'utf8');
  return new Map([
    ['performance.md', performancePage(results)],
    ['scaling.md', withFigures(scaling, scalingFigures(results))],
    ...[...charts(results)].map(([name, svg]) => [`performance/${name}`, svg] as const),
  ]);
}

const read = <Kept>(name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Kept;
/** What was measured, and nothing that was reckoned from it. */
export const readMeasured = (): Omit<Results, 'scale'> => ({
  bench: read('bench.json'),
  slowDisk: read('bench-slow-disk.json'),
  workers: read('bench-workers.json'),
  postgres: read('bench-postgres.json'),
  parts: {
    sqlite: read('parts.json'),
    sqlite_few: read('parts-few.json'),
    postgres: read('parts-postgres.json'),
    postgres_few: read('parts-postgres-few.json'),
  },
  windows: { sqlite: read('windows.json'), postgres: read('windows-postgres.json') },
  layouts: read('layouts.json'),
  statusLists: read('status-lists.json'),
  size: read('size.json'),
});
export const readResults = (): Results => ({ ...readMeasured(), scale: read('scale.json') });

if (import.meta.main) {
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.svg'))) rmSync(join(folder, name));
  for (const [path, text] of pages(readResults())) writeFileSync(join(docs, path), text);
}
