/**
 * `npm run simulate`: the use-cases of tokens in a simulated world, one seed after the other. Everything that happens follows
 * from the seed: which request goes on when, what the store fails to do, when a process is killed, how time passes.
 */
import { parseArgs } from 'node:util';
import { shrink, simulate, type Tally } from './simulate.ts';
import { prepareStart } from './world.ts';

const usage = `Usage: npm run simulate -- [options]

  --seeds N   how many (default 10000)
  --from N    the first (default 0)
  --seed N    this one alone, with all that happens in it
  --help      this text

A seed that breaks a rule is printed with the shortest course of events that was found. Exits with 1 then.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string' },
    help: { type: 'boolean' },
  },
});

async function main(): Promise<number> {
  const isOne = values.seed !== undefined;
  const [seeds, from] = isOne ? [1, Number(values.seed)] : [Number(values.seeds), Number(values.from)];
  if (values.help || !(seeds >= 1) || !Number.isSafeInteger(from)) {
    console.log(usage);
    return values.help ? 0 : 2;
  }
  const start = await prepareStart();
  const [startedAt, used] = [performance.now(), process.cpuUsage()];
  const tally: Tally = {};
  for (let seed = from; seed < from + seeds; seed += 1) {
    const course = await simulate(start, seed, tally);
    if (!course.error) {
      if (isOne) console.log(course.trace.join('\n'));
      continue;
    }
    const shortest = await shrink(start, course);
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

process.exit(await main());
