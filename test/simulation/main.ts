/**
 * `npm run simulate`: the use-cases of tokens in a simulated world, one seed after the other. Everything that happens follows
 * from the seed: which request goes on when, what the store fails to do, when a process is killed, how time passes.
 */
import { parseArgs } from 'node:util';
import { scaleOptions, scaleUsage, simulateScale } from '../../bench/scale/main.ts';
import { shrink, simulate, type Tally } from './simulate.ts';
import { prepareStart } from './world.ts';

const usage = `Usage: npm run simulate -- [options]

  --seeds N   how many (default 10000)
  --from N    the first (default 0)
  --seed N    this one alone, with all that happens in it
  --help      this text

A seed that breaks a rule is printed with the shortest course of events that was found. Exits with 1 then.

Instead of that:

${scaleUsage}

Exits with 1 when the model is further from the measured figures than it claims.`;

const parse = () =>
  parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      scale: { type: 'boolean' },
      help: { type: 'boolean' },
      ...scaleOptions,
    },
  }).values;

/** @throws what is no refusal of an option. */
function refuse(error: unknown): number {
  if (!(error instanceof RangeError) && !isOfOptions(error)) throw error;
  console.error(`${error.message}\n\n${usage}`);
  return 2;
}

const isOfOptions = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');

function start(): Promise<number> | number {
  try {
    const values = parse();
    if (values.help) {
      console.log(usage);
      return 0;
    }
    const others = Object.keys(values).filter((name) => name in scaleOptions);
    if (values.scale) {
      if (values.seeds !== undefined || values.from !== undefined) throw new RangeError('--scale has one seed.');
      return simulateScale(values);
    }
    if (others.length > 0) throw new RangeError(`--${others[0]} is for --scale.`);
    return simulateRaces(values);
  } catch (error) {
    return refuse(error);
  }
}

async function simulateRaces(values: { seeds?: string; from?: string; seed?: string }): Promise<number> {
  const isOne = values.seed !== undefined;
  const [seeds, from] = isOne ? [1, Number(values.seed)] : [Number(values.seeds ?? 10_000), Number(values.from ?? 0)];
  if (!(seeds >= 1) || !Number.isSafeInteger(from)) return refuse(new RangeError('Seeds are whole numbers.'));
  const world = await prepareStart();
  const [startedAt, used] = [performance.now(), process.cpuUsage()];
  const tally: Tally = {};
  for (let seed = from; seed < from + seeds; seed += 1) {
    const course = await simulate(world, seed, tally);
    if (!course.error) {
      if (isOne) console.log(course.trace.join('\n'));
      continue;
    }
    const shortest = await shrink(world, course);
    console.log(shortest.trace.join('\n'));
    console.log(
      `\nSeed ${seed} breaks a rule. ${shortest.steps} of ${course.steps} steps are enough.\n${shortest.error?.stack}`,
    );
    console.log(`\nAgain: npm run simulate -- --seed ${seed}`);
    return 1;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(used);
  const busy = (user + system) / 1e6;
  const speed = `${busy.toFixed(1)} s of processor time (${(seeds / busy).toFixed(0)} a second of it)`;
  console.log(JSON.stringify({ seeds, from, ...tally }));
  console.error(`${seeds} seeds from ${from} on in ${seconds.toFixed(1)} s, ${speed}: every rule was kept.`);
  return 0;
}

process.exit(await start());
