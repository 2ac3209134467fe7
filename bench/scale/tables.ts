import { markdownTable, nameOf, whole } from '../../scripts/performance-text.ts';
import type { Answer, ScaleResult } from './answers.ts';
import { tolerance } from './calibration.ts';
import type { Busy, Fault, Measurement } from './cluster.ts';
import type { Kind } from './costs.ts';

const percent = (part: number): string => `${whole(100 * part)} %`;
/** Empty when there was none. */
const ms = (value: number): string => (Number.isNaN(value) ? '' : value < 10 ? value.toFixed(1) : whole(value));
const storeOf = ({ engine, primaries }: Answer): string =>
  engine === 'sqlite' ? 'SQLite' : primaries === 1 ? 'one PostgreSQL' : `${primaries} PostgreSQL`;
const peopleOf = ({ people }: Answer): string => `${(people / 1e6).toLocaleString('en').replaceAll(',', ' ')} million`;

const resources: Readonly<Record<keyof Busy, string>> = {
  node_processors: 'processors of nodes',
  event_loops: 'event loops',
  password_threads: 'threads for passwords',
  primary_processors: 'processors of the primary',
  change_connections: 'connections for changes',
};
const resourceNames = Object.keys(resources) as (keyof Busy)[];

/** What would be the first to have no more. */
export function fullest({ busy }: Measurement): string {
  const name = resourceNames.reduce((most, other) => (busy[other] > busy[most] ? other : most));
  return `${resources[name]}, ${percent(busy[name])}`;
}

const faultNames: Readonly<Record<Fault['what'], string>> = {
  lost_node: 'a node is lost',
  slow_disk: 'a slow disk',
  herd: 'a herd',
};

function calibrationTable({ calibration }: ScaleResult): string {
  const table = markdownTable(
    ['answers per second', 'processors of others', 'measured', 'by the model', 'ratio'],
    calibration.map(({ name, others, measured, modelled }) => [
      name,
      others.toFixed(2),
      whole(measured),
      whole(modelled),
      (modelled / measured).toFixed(2),
    ]),
  );
  return `${table}\n\nA test holds the model to within ${percent(tolerance)} of each.`;
}

function machinesTable({ answers, options }: ScaleResult): string {
  return markdownTable(
    [
      'people',
      'store',
      'requests/s',
      'changes/s',
      'commits/s of PostgreSQL',
      `machines of ${options.coresPerMachine} processors, one to spare`,
      'processors of a primary',
      'connections to it',
      'log, MB/s',
    ],
    answers.map((answer) => {
      const { engine, requests_per_s, changes_per_s, usual, machines, primaries, primary_processors, log_bytes_per_s } =
        answer;
      const isShared = engine === 'postgres';
      return [
        peopleOf(answer),
        storeOf(answer),
        whole(requests_per_s),
        whole(changes_per_s),
        isShared ? whole(usual.commits_per_s * primaries) : '',
        whole(machines),
        isShared ? whole(primary_processors) : '',
        isShared ? whole(usual.connections) : '',
        (log_bytes_per_s / 1e6).toFixed(1),
      ];
    }),
  );
}

function busyTable({ answers }: ScaleResult): string {
  return markdownTable(
    ['people', 'store', 'p50, ms', 'p99, ms', ...resourceNames.map((name) => resources[name]), 'requests a statement'],
    answers.map((answer) => {
      const { engine, usual } = answer;
      const isShown = (name: keyof Busy) =>
        engine === 'postgres' || (name !== 'primary_processors' && name !== 'change_connections');
      return [
        peopleOf(answer),
        storeOf(answer),
        ms(usual.p50_ms),
        ms(usual.p99_ms),
        ...resourceNames.map((name) => (isShown(name) ? percent(usual.busy[name]) : '')),
        engine === 'postgres' ? usual.requests_per_statement.toFixed(1) : '',
      ];
    }),
  );
}

function faultsTable({ answers }: ScaleResult): string {
  const kindsOf = (kinds: Partial<Record<Kind, number>>) =>
    (Object.keys(kinds) as Kind[]).map((kind) => nameOf(kind)).join(', ');
  return markdownTable(
    [
      'people',
      'store',
      'what happens',
      'requests',
      '503',
      'lost',
      'without an answer at the end',
      'p50, ms',
      'p99, ms',
      'fullest resource',
    ],
    answers.flatMap((answer) =>
      (Object.entries(answer.faults) as [Fault['what'], Measurement][]).map(([fault, measurement]) => {
        const { requests, refused, refused_by_kind, lost, open, p50_ms, p99_ms } = measurement;
        return [
          peopleOf(answer),
          storeOf(answer),
          faultNames[fault],
          whole(requests),
          refused === 0 ? '0' : `${whole(refused)} (${kindsOf(refused_by_kind)})`,
          whole(lost),
          whole(open),
          ms(p50_ms),
          ms(p99_ms),
          fullest(measurement),
        ];
      }),
    ),
  );
}

function optionsText({ options }: ScaleResult): string {
  const { processesPerMachine, networkMs, flushMs, detectMs, slowDiskFactor, herdFactor, herdMs, seed } = options;
  return [
    `- Each machine runs ${processesPerMachine} processes (\`SIGNET_WORKERS\`) on PostgreSQL, and one on SQLite.`,
    `- A packet takes ${networkMs} ms from a node to the primary, and from that to its synchronous standby. A flush takes ${flushMs.toFixed(1)} ms.`,
    `- A lost node is taken out of the proxy after ${detectMs / 1000} s; until then it gets its share of the requests. A slow disk takes ${slowDiskFactor} times as long for a flush.`,
    `- A herd is ${herdFactor} times the requests of the busiest second, for ${herdMs / 1000} s. Seed ${seed}.`,
  ].join('\n');
}

/** By the names that docs/scaling.md has for them. */
export const scaleTables = (result: ScaleResult): Readonly<Record<string, string>> => ({
  calibration: calibrationTable(result),
  model: optionsText(result),
  machines: machinesTable(result),
  busy: busyTable(result),
  faults: faultsTable(result),
});
