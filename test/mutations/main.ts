/**
 * `npm run mutate`: breaks each promise on purpose, in a copy of the tree, and sees whether a test notices. A promise that can be
 * broken while all tests pass is none.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../support/global-setup.ts';
import { mutants } from './mutants.ts';
import { runMutants, type Verdict } from './run-mutants.ts';

const usage = `Usage: npm run mutate -- [options]

  --only NAMES  mutants, separated by commas (default: all ${mutants.length})
  --jobs N      how many are tried at a time (default 2)
  --patience N  seconds in which no test begins or ends, after which a test hangs (default 120)
  --list        the mutants and what each breaks, without trying them
  --help        this text

A mutant is killed when one of its tests fails, hung when one never ends, and has survived when all of them pass. The tests run
without it, too, and must pass. Needs no network, and changes nothing in the tree. Exits with 1 unless all are killed or hung.`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    patience: { type: 'string', default: '120' },
    list: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const line = ({ mutant, is, by, seconds }: Verdict): string =>
  `${is.padEnd(9)} ${seconds.toFixed(1).padStart(6)} s  ${mutant.name.padEnd(32)} ${by}`;

async function mutate(): Promise<number> {
  const [jobs, patience] = [Number(values.jobs), Number(values.patience)];
  const names = values.only?.split(',') ?? mutants.map(({ name }) => name);
  const unknown = names.find((name) => !mutants.some((mutant) => mutant.name === name));
  if (values.help || unknown !== undefined || !(jobs >= 1) || !(patience > 0)) {
    if (unknown !== undefined) console.error(`There is no mutant ${unknown}. --list has them all.\n`);
    console.log(usage);
    return values.help ? 0 : 2;
  }
  if (values.list) {
    for (const { name, breaks } of mutants) console.log(`${name.padEnd(32)} ${breaks}`);
    return 0;
  }
  const chosen = mutants.filter(({ name }) => names.includes(name));
  const startedAt = performance.now();
  await globalSetup();
  try {
    const verdicts = await runMutants(chosen, {
      root: join(import.meta.dirname, '../..'),
      patienceMs: patience * 1000,
      jobs,
      onVerdict: (verdict) => console.log(line(verdict)),
    });
    const count = (is: Verdict['is']) => verdicts.filter((verdict) => verdict.is === is).length;
    const counts = (['killed', 'hung', 'survived', 'gone', 'unfounded'] as const).map((is) => `${count(is)} ${is}`);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`\n${verdicts.length} mutants in ${seconds} s: ${counts.join(', ')}.`);
    return count('killed') + count('hung') === verdicts.length ? 0 : 1;
  } finally {
    await globalTeardown();
  }
}

process.exitCode = await mutate();
