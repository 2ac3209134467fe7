/**
 * `npm run test:conformance -- --suite https://localhost:8443`: plans of the OpenID Foundation's conformance suite, which runs already,
 * against a Signet that this starts.
 */
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { variables } from './choice.ts';
import { type Run, runs } from './plans.ts';

const usage = `Usage: npm run test:conformance -- --suite URL [--suite-ca FILE] [--run NAME]... [--module NAME]...

Runs plans of the OpenID Foundation's conformance suite against a Signet of its own. README.md beside this file tells how to start the
suite, on this machine: it sends people's browsers and events to a Signet at localhost.

  --suite URL      where the suite is, by https
  --suite-ca FILE  the certificate by which the suite's is known, in PEM
  --run NAME       that run alone; may be repeated
  --module NAME    that module of each run alone; may be repeated
  --help           this text

Runs:
${runs.map(({ name, plan }) => `  ${name.padEnd(36)} ${plan}`).join('\n')}`;

type Choice = {
  suite: string | undefined;
  ca: string | undefined;
  runs: readonly Run[];
  modules: readonly string[];
  help: boolean;
};

/** @returns what to run, or a message. */
function choose(args: string[]): Choice | string {
  try {
    const [one, several] = [{ type: 'string' }, { type: 'string', multiple: true }] as const;
    const options = {
      suite: one,
      'suite-ca': one,
      run: several,
      module: several,
      help: { type: 'boolean', short: 'h' },
    } as const;
    const { suite, 'suite-ca': ca, run, module: modules = [], help = false } = parseArgs({ args, options }).values;
    const unknown = run?.find((name) => !runs.some((one) => one.name === name));
    if (unknown !== undefined)
      return `There is no run '${unknown}'. The runs: ${runs.map(({ name }) => name).join(', ')}.`;
    if (suite !== undefined && !/^https:\/\//.test(suite)) return `'${suite}' is no https URL.`;
    return { suite, ca, runs: runs.filter(({ name }) => run === undefined || run.includes(name)), modules, help };
  } catch (error) {
    return (error as Error).message;
  }
}

async function runAll({ suite, ca, runs, modules }: Choice): Promise<number> {
  const values = {
    suite: [suite ?? ''],
    ca: ca === undefined ? [] : [resolve(ca)],
    runs: runs.map(({ name }) => name),
    modules,
  };
  for (const name of ['suite', 'ca', 'runs', 'modules'] as const)
    process.env[variables[name]] = values[name].join('\n');
  let failures = 0;
  async function* events(): AsyncGenerator<TestEvent> {
    const files = [join(import.meta.dirname, 'all.ts')];
    for await (const event of run({ files, concurrency: false }) as AsyncIterable<TestEvent>) {
      if (event.type === 'test:fail') failures += 1;
      yield event;
    }
  }
  for await (const text of Readable.from(events()).compose(new Spec())) process.stdout.write(text);
  return failures === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const choice = choose(process.argv.slice(2));
  if (typeof choice === 'string') {
    console.error(`${choice}\n\n${usage}`);
    return 2;
  }
  if (choice.help) {
    console.log(usage);
    return 0;
  }
  if (choice.suite === undefined) {
    console.log('Skipped: no suite. Start one as test/conformance/README.md says, and give its address with --suite.');
    return 0;
  }
  return runAll(choice);
}

process.exitCode = await main();
