/**
 * `npm run test:clients`: relying parties and resource servers in other languages, against a real Signet. For a machine
 * that has the languages; what it does not have is skipped, and said.
 */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../support/global-setup.ts';
import {
  caseNames,
  choiceVariable,
  clients,
  mcpPrograms,
  resourceServers,
  scimCheckers,
  statusListReaders,
} from './cases.ts';

const usage = `Usage: npm run test:clients [-- --only NAME]...

Runs unmodified relying parties through sign-in, userinfo, refresh and sign-out, and the recipes of docs/resource-servers.
Each installs what it needs into a folder of its own, which is removed afterwards. Nothing is installed on the system: a
case whose tools or network are missing is skipped.

  --only NAME   that case alone; may be repeated
  --help        this text

Relying parties:   ${clients.join(', ')}
Resource servers:  ${resourceServers.join(', ')}
MCP:               ${mcpPrograms.join(', ')}
Status lists:      ${statusListReaders.join(', ')}
SCIM:              ${scimCheckers.join(', ')}`;

type Outcome = { name: string; failed: boolean; skipped: string | undefined; seconds: number };

/** @returns the names to run, or a message. */
function choose(args: string[]): { only: string[]; help: boolean } | string {
  try {
    const options = { only: { type: 'string', multiple: true }, help: { type: 'boolean', short: 'h' } } as const;
    const { only = [], help = false } = parseArgs({ args, options }).values;
    const unknown = only.find((name) => !caseNames.includes(name));
    return unknown === undefined
      ? { only, help }
      : `There is no case '${unknown}'. The cases: ${caseNames.join(', ')}.`;
  } catch (error) {
    return (error as Error).message;
  }
}

async function runAll(chosen: readonly string[]): Promise<Outcome[]> {
  process.env[choiceVariable] = chosen.join(',');
  const files = [
    ...(clients.some((name) => chosen.includes(name)) ? ['clients.ts'] : []),
    ...(resourceServers.some((name) => chosen.includes(name)) ? ['resource-servers.ts'] : []),
    ...(mcpPrograms.some((name) => chosen.includes(name)) ? ['mcp.ts'] : []),
    ...(statusListReaders.some((name) => chosen.includes(name)) ? ['status-lists.ts'] : []),
    ...(scimCheckers.some((name) => chosen.includes(name)) ? ['scim.ts'] : []),
  ].map((file) => join(import.meta.dirname, file));
  const outcomes: Outcome[] = [];
  async function* events(): AsyncGenerator<TestEvent> {
    // One after the other: each builds, and measures nothing.
    for await (const event of run({ files, concurrency: false }) as AsyncIterable<TestEvent>) {
      if ((event.type === 'test:pass' || event.type === 'test:fail') && event.data.nesting === 0) {
        const { name, skip, details } = event.data;
        const skipped = skip === undefined || skip === false ? undefined : String(skip);
        outcomes.push({ name, failed: event.type === 'test:fail', skipped, seconds: details.duration_ms / 1000 });
      }
      yield event;
    }
  }
  for await (const text of Readable.from(events()).compose(new Spec())) process.stdout.write(text);
  return outcomes;
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
  const chosen = choice.only.length === 0 ? caseNames : caseNames.filter((name) => choice.only.includes(name));
  await globalSetup();
  let outcomes: Outcome[];
  try {
    outcomes = await runAll(chosen);
  } finally {
    await globalTeardown();
  }
  for (const { name, failed, skipped, seconds } of outcomes) {
    const word = failed ? 'FAILED ' : skipped === undefined ? 'passed ' : 'skipped';
    console.log(`${word}  ${name.padEnd(20)} ${skipped ?? `${seconds.toFixed(0)} s`}`);
  }
  // A file that breaks before its tests reports none.
  const silent = chosen.filter((name) => !outcomes.some((outcome) => outcome.name === name));
  for (const name of silent) console.log(`FAILED   ${name.padEnd(20)} did not run`);
  return silent.length > 0 || outcomes.some(({ failed }) => failed) ? 1 : 0;
}

process.exitCode = await main();
