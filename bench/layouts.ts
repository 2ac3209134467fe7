/** `npm run bench:layouts`: processor time of an operation on one PostgreSQL, in cells of one, and in cells of two. README.md says more. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { markdownTable, nameOf, whole } from '../scripts/performance-text.ts';
import { freePort } from './child.ts';
import type { Contender } from './contender.ts';
import { type Layout, layouts } from './database.ts';
import { connections } from './load.ts';
import { middle, type Parts, usedByServer } from './parts.ts';
import { ownScenarios, prepare, type Scenario, type ScenarioName } from './scenarios.ts';
import { startSignet } from './signet.ts';
import { whereAndWhen } from './where-and-when.ts';
import { measureWindow } from './window.ts';

const help = `Usage: npm run bench:layouts -- [options]

  --rounds N   measured rounds (default 9)
  --smoke      one round of a few requests each: whether it works
  --json       the result as JSON on stdout, alone
  --help       this text

Progress goes to stderr. Needs Linux, no network, and leaves nothing behind.`;

/** Requests of one window; the same for each layout. */
const requests = {
  sign_in: 48,
  authorize: 1_500,
  code_exchange: 1_500,
  refresh: 2_000,
  userinfo: 5_000,
  introspect: 5_000,
} as const satisfies Partial<Record<ScenarioName, number>>;
type Operation = keyof typeof requests;
const operations = Object.keys(requests) as Operation[];

/** So many that each of eight cells has some. */
const manyPeople = 32;
const smallest = { requests: 8, people: 3 };

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const rounds = values.smoke ? 1 : Number(values.rounds);
const people = values.smoke ? smallest.people : manyPeople;
const started: Contender[] = [];
const stopAll = () => Promise.allSettled(started.splice(0).map((contender) => contender.stop()));
const progress = (text: string) =>
  process.stderr.write(`${(performance.now() / 1000).toFixed(0).padStart(5)} s  ${text}\n`);

if (values.help) console.log(help);
else if (!(Number.isInteger(rounds) && rounds >= 1)) {
  console.error(`--rounds takes a whole number from 1.\n\n${help}`);
  process.exitCode = 2;
} else {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stopAll().then(() => process.exit(130)));
  try {
    const result = await measure();
    console.log(values.json ? JSON.stringify(result) : text(result));
  } finally {
    await stopAll();
  }
}

type Entrant = { layout: Layout; contender: Contender; scenarios: Partial<Record<ScenarioName, Scenario>> };
type Figures<Value> = Record<Operation, Value>;
export type LayoutsResult = ReturnType<typeof whereAndWhen> & {
  rounds: number;
  people: number;
  connections: number;
  /** Microseconds of an answer, of the round with the middle sum. */
  parts_us: Record<Layout, Figures<Parts>>;
  /** Processor time beside that of one part: the middle of the rounds' ratios. */
  ratios: Record<Exclude<Layout, 'one_part'>, Figures<number>>;
};

async function measure(): Promise<LayoutsResult> {
  const entrants: Entrant[] = [];
  for (const layout of layouts) {
    progress(`starting Signet with ${nameOf(layout)}`);
    entrants.push(await enter(layout));
  }
  const windows = new Map<string, Parts[]>();
  const windowsOf = (layout: Layout, name: Operation) => windows.getOrInsertComputed(`${layout} ${name}`, () => []);
  if (!values.smoke) await measureRound(entrants, () => undefined); // hot paths are compiled
  for (let round = 0; round < rounds; round += 1) {
    // Another one goes first in each round, so that nobody always follows the same neighbour.
    const order = entrants.map((_, place) => entrants[(place + round) % entrants.length]!);
    await measureRound(order, (layout, name, parts) => windowsOf(layout, name).push(parts));
    progress(`round ${round + 1} of ${rounds}`);
  }
  const figures = <Value>(of: (name: Operation) => Value) =>
    Object.fromEntries(operations.map((name) => [name, of(name)])) as Figures<Value>;
  const ratiosOf = (layout: Layout) =>
    figures((name) => {
      const beside = windowsOf('one_part', name);
      const ratios = windowsOf(layout, name).map((parts, round) => usedByServer(parts) / usedByServer(beside[round]!));
      return Math.round(100 * middle(ratios, Number)) / 100;
    });
  return {
    ...whereAndWhen('bench:layouts'),
    rounds,
    people,
    connections,
    parts_us: Object.fromEntries(
      layouts.map((layout) => [layout, figures((name) => middle(windowsOf(layout, name), usedByServer))]),
    ) as LayoutsResult['parts_us'],
    ratios: { cells: ratiosOf('cells'), two_servers: ratiosOf('two_servers') },
  };
}

async function enter(layout: Layout): Promise<Entrant> {
  const exchanges = values.smoke ? 1 : (rounds + 1) * requests.code_exchange;
  const contender = await startSignet(await freePort(), undefined, { exchanges, layout, people });
  started.push(contender);
  const tokens = values.smoke ? { accessTokens: 4, families: smallest.requests } : undefined;
  return { layout, contender, scenarios: { ...(await prepare(contender, tokens)), ...ownScenarios(contender) } };
}

/** The layouts in turn for each operation: neighbours in time are what is compared. */
async function measureRound(
  entrants: readonly Entrant[],
  add: (layout: Layout, name: Operation, parts: Parts) => void,
): Promise<void> {
  for (const name of operations) {
    for (const { layout, contender, scenarios } of entrants) {
      const load = await scenarios[name]!(values.smoke ? smallest.requests : requests[name]);
      const { parts } = await measureWindow(contender, load);
      add(layout, name, parts);
    }
  }
}

function text({ parts_us, ratios }: LayoutsResult): string {
  const table = markdownTable(
    ['processor µs', ...layouts.map(nameOf), 'cells, ratio', 'two servers, ratio'],
    operations.map((name) => [
      nameOf(name),
      ...layouts.map((layout) => whole(usedByServer(parts_us[layout][name]))),
      ratios.cells[name].toFixed(2),
      ratios.two_servers[name].toFixed(2),
    ]),
  );
  return `${table}\n\nMiddle of ${rounds} rounds on ${availableParallelism()} cores, ${connections} requests in flight.`;
}
