/**
 * `npm run test:browsers`: what people do with Signet, in Firefox and WebKit as well, by W3C WebDriver. A browser that the machine does
 * not have is skipped, and said.
 */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../support/global-setup.ts';
import { type BrowserName, browserNames, missing } from './browsers.ts';
import { cases, variables } from './cases.ts';

const usage = `Usage: npm run test:browsers [-- --browser NAME]... [-- --only TEXT]...

Runs what people do with Signet in browsers of the machine, each case in a browser that has never been there. What is missing is
skipped, and said; on Debian: apt-get install firefox-esr webkit2gtk-driver xvfb chromium-driver

  --browser NAME   in that browser alone: ${browserNames.join(', ')}; may be repeated
  --only TEXT      the cases whose names contain that; may be repeated
  --help           this text

Cases:
${cases.map(({ name }) => `  ${name}`).join('\n')}`;

type Choice = { browsers: readonly BrowserName[]; names: readonly string[]; help: boolean };

/** @returns what to run, or a message. */
function choose(args: string[]): Choice | string {
  try {
    const several = { type: 'string', multiple: true } as const;
    const options = { browser: several, only: several, help: { type: 'boolean', short: 'h' } } as const;
    const { browser = [...browserNames], only = [''], help = false } = parseArgs({ args, options }).values;
    const unknown = browser.find((name) => !browserNames.includes(name as BrowserName));
    if (unknown !== undefined) return `There is no browser '${unknown}'. The browsers: ${browserNames.join(', ')}.`;
    const without = only.find((text) => !cases.some(({ name }) => name.includes(text)));
    if (without !== undefined) return `No case has '${without}' in its name.`;
    const names = cases.map(({ name }) => name).filter((name) => only.some((text) => name.includes(text)));
    return { browsers: browserNames.filter((name) => browser.includes(name)), names, help };
  } catch (error) {
    return (error as Error).message;
  }
}

type Counts = { passed: number; failed: number; skipped: number; about: string };

const outcomeOf = (type: 'test:pass' | 'test:fail', skip: unknown) =>
  type === 'test:fail' ? 'failed' : skip === undefined ? 'passed' : 'skipped';

async function runCases({ browsers, names }: Choice): Promise<Map<string, Counts>> {
  process.env[variables.browsers] = browsers.join('\n');
  process.env[variables.cases] = names.join('\n');
  const counts = new Map(browsers.map((name) => [name as string, { passed: 0, failed: 0, skipped: 0, about: '' }]));
  async function* events(): AsyncGenerator<TestEvent> {
    const files = [join(import.meta.dirname, 'all.ts')];
    for await (const event of run({ files, concurrency: false }) as AsyncIterable<TestEvent>) {
      if ((event.type === 'test:pass' || event.type === 'test:fail') && event.data.nesting === 0) {
        const its = counts.get(event.data.name.split(':')[0]!);
        if (its) its[outcomeOf(event.type, event.data.skip)] += 1;
      }
      if (event.type === 'test:diagnostic') {
        const [, name = '', about = ''] = /^(\w+) is (.+)$/.exec(event.data.message) ?? [];
        const its = counts.get(name);
        if (its) its.about = about;
      }
      yield event;
    }
  }
  for await (const text of Readable.from(events()).compose(new Spec())) process.stdout.write(text);
  return counts;
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
  const present = choice.browsers.filter((name) => missing(name) === undefined);
  const counts = new Map<string, Counts>();
  if (present.length > 0) {
    await globalSetup();
    try {
      for (const [name, its] of await runCases({ ...choice, browsers: present })) counts.set(name, its);
    } finally {
      await globalTeardown();
    }
  }
  for (const name of choice.browsers) {
    const its = counts.get(name);
    const said = its
      ? `${its.passed} passed, ${its.failed} failed, ${its.skipped} skipped (${its.about})`
      : `skipped: ${missing(name)}`;
    console.log(`${name.padEnd(10)}${said}`);
  }
  const isComplete = ({ passed, failed, skipped }: Counts) => failed === 0 && passed + skipped === choice.names.length;
  // A file that breaks before its tests reports none.
  return [...counts.values()].every(isComplete) ? 0 : 1;
}

process.exitCode = await main();
