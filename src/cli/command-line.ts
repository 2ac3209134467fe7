import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { WriteStream } from 'node:tty';
import { type Config, keepTemporaryFilesIn, readConfig } from '../app/config.ts';
import { withAbsent } from '../platform/db/absent-parts.ts';
import { CellsRefused } from '../platform/db/cell-refused.ts';
import { OutcomeUnknown, StoreUnavailable } from '../platform/db/db.ts';
import { MigrationRefused } from '../platform/db/migrate.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { databaseFile } from '../platform/db/open.ts';
import { CopyRefused } from '../platform/db/sqlite-backup.ts';
import { ConfigError, RequestError } from '../platform/errors.ts';
import { mailWarning } from '../platform/processes.ts';
import { type Report, refusalText, terminalLayout } from '../platform/report.ts';
import { editDistance, visibleText } from '../platform/text.ts';
import {
  Cancelled,
  type Command,
  columns,
  exampleText,
  helpOf,
  overviewOf,
  readArguments,
  type Terminal,
  type Typed,
  UsageError,
} from './command.ts';
import { commandGroups, commands } from './commands.ts';
import { examples } from './examples.ts';
import { requireConfirmation } from './password-prompt.ts';

type Environment = Parameters<typeof readConfig>[0];

/** @returns the exit code; undefined when it serves, until a signal. */
export async function commandLine(
  args: readonly string[],
  terminal: Terminal,
  environment?: Environment,
): Promise<number | undefined> {
  try {
    return await execute(args, terminal, environment);
  } catch (error) {
    return fail(error, terminal, args);
  }
}

async function execute(args: readonly string[], terminal: Terminal, environment: Environment) {
  const [first, ...rest] = args;
  if (first === 'help' && rest.length > 0) return execute([...rest, '--help'], terminal, environment);
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    terminal.stdout.write(overviewOf(commandGroups.map(([heading, group]) => [heading, firstSentences(group)])));
    return first === undefined ? 2 : 0;
  }
  const name = nameIn(args);
  return name === undefined ? explainGroup(args, terminal) : run(name, args, terminal, environment);
}

/** The command that the arguments begin with: the longest, since `config export` is not `config`. */
const nameIn = (args: readonly string[]): string | undefined =>
  [3, 2, 1].map((words) => args.slice(0, words).join(' ')).find((name) => commands.has(name));

const summaries = (group: Readonly<Record<string, Command>>) =>
  Object.entries(group).map(([name, { summary }]) => [name, summary]);

/** So that the list of all commands is one that is read. */
const firstSentences = (group: Readonly<Record<string, Command>>) =>
  summaries(group).map(([name = '', summary = '']) => [name, summary.split(/(?<=\.) /, 1)[0]!]);

/** `signet users` lists the commands that begin so. */
function explainGroup(args: readonly string[], { stdout }: Terminal): number {
  const asked = args.at(-1) === '--help' || args.at(-1) === '-h';
  const prefix = (asked ? args.slice(0, -1) : args).join(' ');
  const group = [...commands].filter(([name]) => name.startsWith(`${prefix} `));
  if (group.length === 0) throw unknownCommand(args);
  const shown = group.flatMap(([name]) => (examples[name] === undefined ? [] : [exampleText(examples[name])]));
  stdout.write(`${columns(summaries(Object.fromEntries(group)))}\n`);
  if (shown.length > 0) stdout.write(`\nExamples:\n${shown.join('')}`);
  return asked ? 0 : 2;
}

function unknownCommand(args: readonly string[]): UsageError {
  const typed = args
    .filter((one) => !one.startsWith('-'))
    .slice(0, 3)
    .map((one) => one.slice(0, 40));
  const shown = JSON.stringify(typed.slice(0, 2).join(' ') || (args[0] ?? '').slice(0, 40));
  const near = [...commands.keys()].map((name) => {
    const wanted = typed.slice(0, name.split(' ').length).join(' ');
    return { name, distance: editDistance(wanted, name, 3) };
  });
  const [nearest] = near.filter(({ distance }) => distance <= 2).sort((one, other) => one.distance - other.distance);
  return new UsageError(`Unknown command: ${shown}.${nearest ? ` Did you mean: signet ${nearest.name}` : ''}`);
}

const argumentsOf = (name: string, args: readonly string[]) =>
  readArguments(commands.get(name)!, args.slice(name.split(' ').length));

async function run(name: string, args: readonly string[], terminal: Terminal, environment: Environment) {
  const command = commands.get(name)!;
  const read = argumentsOf(name, args);
  if (read === 'help') {
    terminal.stdout.write(helpOf(name, command, examples[name]));
    return 0;
  }
  const config = readSettings(environment, command);
  if (!(config instanceof ConfigError) && environment === undefined) keepTemporaryFilesIn(config.dataDir);
  if (config instanceof ConfigError) return print(await command.reportSettings!(config), read.json, terminal);
  if (name === 'serve') {
    const { serve } = await import('../app/main.ts');
    await serve(config);
    return undefined;
  }
  if (!read.json) await confirm(command, read.given, terminal);
  const layout = layoutOf(terminal.stdout, read.wide, environment);
  if (command.runWithoutStore) {
    const work = () => command.runWithoutStore!(config, read.given, terminal, read.json);
    return print(await terminalLayout.run(layout, work), read.json, terminal);
  }
  const { closeDeps, openDeps, openLog } = await import('../app/open-deps.ts');
  if (!command.prepares) refuseEmptyFolder(config);
  const role = command.prepares ? 'server' : 'command';
  const deps = await openDeps(config, { clock: Date.now, log: openLog(config.logLevel), role });
  try {
    const { stdin, stdout, stderr } = terminal;
    const surroundings = { stdin, stdout, stderr, variable: (name: string) => (environment ?? terminal.env)?.[name] };
    const work = () => terminalLayout.run(layout, () => command.run(deps, read.given, surroundings, read.json));
    const { result: report, absent } = await (command.onlyShows
      ? withAbsent(work)
      : { result: await work(), absent: [] });
    if (!report) return 0;
    const warnings = [
      deps.mail.enqueued > 0 ? await mailWarning(deps) : undefined,
      absent.length > 0 ? absentWarning(absent) : undefined,
    ].filter((one) => one !== undefined);
    for (const warning of warnings) terminal.stderr.write(`signet: warning: ${warning}\n`);
    const json = warnings.length > 0 ? { ...(report.json as object), warnings } : report.json;
    const code = print({ ...report, json }, read.json, terminal);
    return code === 0 && absent.length > 0 ? incomplete : code;
  } finally {
    await closeDeps(deps);
  }
}

async function confirm({ confirm: loss }: Command, given: Typed, terminal: Terminal): Promise<void> {
  const question = typeof loss === 'function' ? loss(given) : loss;
  if (question !== undefined && !given.yes) await requireConfirmation(terminal, question);
}

/** Only a terminal has columns and colors; `hasColors` knows NO_COLOR and what else is agreed on. */
function layoutOf(stdout: Terminal['stdout'], isWide: boolean, environment: Environment) {
  const { isTTY, columns } = stdout as Partial<WriteStream>;
  if (!isTTY) return { colors: false };
  return { columns: isWide ? undefined : columns, colors: (stdout as WriteStream).hasColors(environment) };
}

/** @returns the problem if the command reports it. @throws {ConfigError} if not. */
function readSettings(environment: Environment, { reportSettings }: Command): Config | ConfigError {
  try {
    return readConfig(environment);
  } catch (error) {
    if (reportSettings && error instanceof ConfigError) return error;
    throw error;
  }
}

function print({ json, text, failed }: Report, asJson: boolean, { stdout }: Terminal): number {
  stdout.write(asJson ? `${JSON.stringify(json)}\n` : `${text}\n`);
  return failed ? 1 : 0;
}

/** The exit code of what is shown without rows of a part that is away. */
const incomplete = 3;

const absentWarning = (parts: readonly string[]): string =>
  `Parts of the store cannot be reached: ${parts.join(', ')}. What they have is missing here.`;

/** So that a mistyped folder gets no new store and key. */
function refuseEmptyFolder({ dataDir, databaseUrl }: Config): void {
  if (databaseUrl || existsSync(join(dataDir, databaseFile))) return;
  throw new ConfigError(
    `There is no database in ${dataDir}. Start the server first (signet serve), or run: signet migrate. If the server keeps its data elsewhere, set SIGNET_DATA_DIR to that folder.`,
  );
}

const kinds = [
  [UsageError, 'usage_error'],
  [Cancelled, 'cancelled'],
  [ConfigError, 'configuration_error'],
  [MigrationRefused, 'migration_refused'],
  [CopyRefused, 'copy_refused'],
  [MoveRefused, 'move_refused'],
  [CellsRefused, 'cells_refused'],
  [OutcomeUnknown, 'outcome_unknown'],
  [StoreUnavailable, 'store_unavailable'],
] as const;

/** Undefined for an unexpected error. */
function jsonOf(error: unknown): object | undefined {
  if (error instanceof RequestError) {
    return { error: error.code, error_description: error.message, ...error.details };
  }
  const [, name] = kinds.find(([kind]) => error instanceof kind) ?? [];
  return name && { error: name, error_description: (error as Error).message + reasonOf(error) };
}

/** One sentence; a stack only for an unexpected error. */
function textOf(error: unknown, args: readonly string[]): string | undefined {
  if (error instanceof RequestError) return refusalText(error) + notFoundOperands(error, args);
  const { syscall = '', message, stack } = error as NodeJS.ErrnoException;
  if (listenCalls.has(syscall)) return listenProblem(error as ListenError);
  return jsonOf(error) ? message + reasonOf(error) : stack;
}

function fail(error: unknown, { stdout, stderr }: Terminal, args: readonly string[]): number {
  const code = error instanceof UsageError ? 2 : 1;
  const json = jsonOf(error);
  if (json && args.includes('--json')) {
    stdout.write(`${JSON.stringify(json)}\n`);
    return code;
  }
  stderr.write(`signet: ${textOf(error, args)}\n`);
  if (code === 2) stderr.write(`Try: signet ${[nameIn(args), '--help'].filter(Boolean).join(' ')}\n`);
  return code;
}

function notFoundOperands({ code }: RequestError, args: readonly string[]): string {
  const name = nameIn(args);
  if (code !== 'not_found' || name === undefined) return '';
  const read = argumentsOf(name, args);
  const operands = Object.keys(commands.get(name)!.operands ?? {});
  const typed = read === 'help' ? [] : operands.map((operand) => read.given[operand]);
  const shown = typed.map((one) => visibleText(String(one), 60)).filter(Boolean);
  return shown.length > 0 ? ` Searched for: ${shown.join(' ')}` : '';
}

/** `bind`: of a worker, by its supervisor. */
const listenCalls = new Set(['listen', 'bind', 'getaddrinfo']);

type ListenError = NodeJS.ErrnoException & { address?: string; hostname?: string; port?: number };

function listenProblem({ code, address, hostname, port }: ListenError): string {
  const place = [address ?? hostname, port].filter((part) => part !== undefined).join(' port ') || 'that address';
  return code === 'EADDRINUSE'
    ? `Another server already listens on ${place}. Stop it, or set SIGNET_PORT.`
    : `Cannot listen on ${place} (${code}). Check SIGNET_HOST and SIGNET_PORT.`;
}

/** The engine's message; see {@link storeReason}. */
function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  if (!(error instanceof StoreUnavailable) || !(cause instanceof Error)) return '';
  return ` (${cause.message || (cause as NodeJS.ErrnoException).code})`;
}
