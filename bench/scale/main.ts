import { readMeasured } from '../../scripts/performance-docs.ts';
import { defaults, type Options, type Size, scale, sizes } from './answers.ts';
import { isWithin } from './calibration.ts';
import { scaleTables } from './tables.ts';

type NumberOption = {
  text: string;
  least: number;
  most: number;
  whole?: boolean;
  set: (value: number) => Partial<Options>;
};

/** Of `npm run simulate -- --scale`, each with a number. */
const numbers: Readonly<Record<string, NumberOption>> = {
  hour: { text: 'of the day, from 0 to 24 (default 9, the busiest)', least: 0, most: 24, set: (hour) => ({ hour }) },
  cores: {
    text: 'processors of a machine (default 8)',
    least: 1,
    most: 256,
    whole: true,
    set: (coresPerMachine) => ({ coresPerMachine }),
  },
  processes: {
    text: 'of Signet on a machine (default 4)',
    least: 1,
    most: 64,
    whole: true,
    set: (processesPerMachine) => ({ processesPerMachine }),
  },
  'flush-ms': {
    text: 'of a disk (default: a disk as in a cloud)',
    least: 0,
    most: 1_000,
    set: (flushMs) => ({ flushMs }),
  },
  'network-ms': { text: 'one way (default 0.25)', least: 0, most: 1_000, set: (networkMs) => ({ networkMs }) },
  'detect-seconds': {
    text: 'until a proxy has noticed that a node is lost (default 2)',
    least: 0,
    most: 30,
    set: (seconds) => ({ detectMs: seconds * 1_000 }),
  },
  'slow-disk': {
    text: 'times as long for a flush (default 10)',
    least: 1,
    most: 1_000,
    set: (slowDiskFactor) => ({ slowDiskFactor }),
  },
  'herd-factor': {
    text: 'times as many requests (default 4)',
    least: 1,
    most: 20,
    set: (herdFactor) => ({ herdFactor }),
  },
  'herd-seconds': {
    text: 'so long (default 5)',
    least: 0.1,
    most: 60,
    set: (seconds) => ({ herdMs: seconds * 1_000 }),
  },
};

const mostMillions = 1_000;

export const scaleOptions = {
  people: { type: 'string' },
  json: { type: 'boolean' },
  ...Object.fromEntries(Object.keys(numbers).map((name) => [name, { type: 'string' } as const])),
} as const;

export const scaleUsage = `  --scale     how many machines so many people need, by a model of nodes, stores and networks, and what faults do there
  --seed N    of the model (default 1)
  --people N  millions, up to ${mostMillions} (default: 1, 100 and 1000); faults up to 200
  --json      the result alone, as docs/performance/scale.json
${Object.entries(numbers)
  .map(([name, { text }]) => `  --${name} N`.padEnd(20) + text)
  .join('\n')}`;

/** @returns the exit code: 1 when the model does not say what was measured. @throws {RangeError} for a number that it does not take. */
export function simulateScale(values: Readonly<Record<string, unknown>>): number {
  const measured = readMeasured();
  const options = defaults(measured);
  for (const [name, { least, most, whole, set }] of Object.entries(numbers)) {
    if (values[name] !== undefined) Object.assign(options, set(readNumber(name, values[name], least, most, whole)));
  }
  if (values.seed !== undefined) options.seed = readNumber('seed', values.seed, 0, Number.MAX_SAFE_INTEGER, true);
  const result = scale(measured, sizesFor(values.people), options, (text) => console.error(text));
  if (values.json) console.log(JSON.stringify(result, undefined, 1));
  else console.log(Object.values(scaleTables(result)).join('\n\n'));
  const missed = result.calibration.filter((one) => !isWithin(one));
  for (const { name } of missed) console.error(`${name}: the model does not say what was measured.`);
  return missed.length === 0 ? 0 : 1;
}

function sizesFor(people: unknown): readonly Size[] {
  if (people === undefined) return sizes;
  const count = readNumber('people', people, 0.001, mostMillions) * 1e6;
  return [{ people: count, engine: 'postgres', primaries: 1 }];
}

function readNumber(name: string, text: unknown, least: number, most: number, isWhole = false): number {
  const value = typeof text === 'string' && text.trim() !== '' ? Number(text) : Number.NaN;
  if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
  throw new RangeError(`--${name} takes a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}.`);
}
