/**
 * `npm run torture`: the crashes, races and faults of the test suite again and again, each time with another seed and more
 * rounds, until the time is over. One that fails is printed with the command that repeats it.
 */
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from './support/global-setup.ts';
import { runFile } from './support/run-file.ts';
import { silenceMs } from './support/watch-for-silence.ts';

/** What is done to Signet, and the files that do it. */
const subjects: Record<string, readonly string[]> = {
  crash: [
    'test/operations/crash.test.ts',
    'test/operations/crash-images.test.ts',
    'test/operations/power-loss.test.ts',
  ],
  connections: ['test/operations/slow-clients.test.ts'],
  races: ['test/oauth/token-races.test.ts', 'test/operations/bulk-changes.test.ts'],
  answers: ['test/oauth/issuances.test.ts'],
  disk: ['src/platform/db/sqlite.test.ts'],
  log: ['src/platform/db/sqlite-log.test.ts'],
  postgres: ['src/platform/db/postgres.test.ts', 'test/operations/failover.test.ts'],
  cells: [
    'test/operations/cut-acts.test.ts',
    'test/operations/killed-acts.test.ts',
    'test/operations/lost-cells.test.ts',
  ],
  workers: ['test/operations/workers.test.ts', 'test/operations/stopping.test.ts'],
  clock: ['test/operations/clock.test.ts'],
  backup: ['test/operations/restore.test.ts', 'test/operations/rekey.test.ts'],
  move: ['test/operations/move.test.ts', 'test/operations/move-to-cells.test.ts'],
  simulation: ['test/oauth/simulation.test.ts'],
  upgrade: ['test/operations/upgrade.test.ts', 'test/operations/upgrade-in-cells.test.ts'],
  requests: ['test/platform/openapi-fuzz.test.ts', 'test/platform/hostile-bodies.test.ts'],
};

const usualRounds = 3;

const usage = `Usage: npm run torture -- [options]

  --minutes N   how long (default 10); what has begun is finished, and each subject is tried once
  --rounds N    by how much races and crashes are multiplied (default ${usualRounds})
  --only NAMES  test files, or subjects, separated by commas: ${Object.keys(subjects).join(',')}
  --seed N      of the first run (default random); the next ones count up
  --patience N  minutes in which no test of a file begins or ends, after which it hangs: it is ended, and has failed
                (default 10; with more rounds, in which a test takes longer, more)
  --json        the result as JSON on stdout, alone
  --help        this text

Progress goes to stderr. Needs no network and leaves nothing behind. Exits with 1 when anything failed.`;

type Trial = { rounds: number; patience: number };
type Run = { file: string; seed: number; passed: number; failed: readonly string[]; why: string | undefined };

async function tortureFile(file: string, seed: number, { rounds, patience }: Trial): Promise<Run> {
  const env = { ...process.env, TEST_SEED: String(seed), TEST_ROUNDS: String(rounds) };
  const { passed, failed, why, hung } = await runFile(file, { env, patienceMs: patience * 60_000 });
  return { file, seed, passed, failed: hung === undefined ? failed : [...failed, `hangs: ${hung}`], why };
}

async function torture(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '10' },
      rounds: { type: 'string', default: String(usualRounds) },
      only: { type: 'string' },
      seed: { type: 'string' },
      patience: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const names = values.only?.split(',') ?? Object.keys(subjects);
  const isFile = (name: string) => name.endsWith('.ts') && existsSync(name);
  const unknown = names.find((name) => !Object.hasOwn(subjects, name) && !isFile(name));
  const [minutes = 0, rounds = 1, first = 0] = [values.minutes, values.rounds, values.seed ?? randomInt(2 ** 30)].map(
    Number,
  );
  const patience = Number(values.patience ?? (silenceMs / 60_000) * Math.max(1, rounds / usualRounds));
  const areNumbers = minutes >= 0 && rounds >= 1 && patience > 0 && Number.isSafeInteger(first);
  if (unknown !== undefined || !areNumbers) {
    console.error(unknown === undefined ? usage : `There is no subject ${unknown}.\n\n${usage}`);
    return 2;
  }
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const runs: Run[] = [];
  let seed = first;
  await globalSetup();
  try {
    do {
      for (const file of names.flatMap((name) => subjects[name] ?? [name])) {
        const run = await tortureFile(file, seed, { rounds, patience });
        runs.push(run);
        const verdict = run.failed.length === 0 ? `${run.passed} passed` : `FAILED: ${run.failed.join('; ')}`;
        console.error(`${seconds().toFixed(1).padStart(7)} s  seed ${seed}  ${file}  ${verdict}`);
        if (run.failed.length > 0) {
          if (run.why) console.error(`           ${run.why}`);
          console.error(`           TEST_SEED=${seed} TEST_ROUNDS=${rounds} npm run test:one -- ${file}`);
        }
      }
      seed += 1;
    } while (seconds() < minutes * 60);
  } finally {
    await globalTeardown();
  }
  const failed = runs.filter((run) => run.failed.length > 0);
  const total = {
    seconds: Math.round(seconds()),
    seeds: [first, seed - 1],
    files: runs.length,
    passed: runs.reduce((sum, run) => sum + run.passed, 0),
    failed,
  };
  if (values.json) console.log(JSON.stringify(total));
  else
    console.log(
      `${total.passed} cases passed in ${total.files} runs of files, with the seeds ${first} to ${seed - 1}, in ${total.seconds} s. ${failed.length} runs failed.`,
    );
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await torture(process.argv.slice(2));
