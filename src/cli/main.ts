import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError, readConfig, version } from '../config.ts';
import { StoreUnavailable } from '../db/db.ts';
import { MigrationRefused } from '../db/migrate.ts';
import { databaseFile } from '../db/open.ts';
import { RequestError } from '../errors.ts';
import { openDeps, openLog } from '../open-deps.ts';
import { accessCommands } from './access.ts';
import { auditCommands } from './audit.ts';
import { clientCommands } from './clients.ts';
import { type Command, helpOf, readArguments, refusalText, table, UsageError } from './command.ts';
import { operationCommands } from './operations.ts';
import { ownerlessClientCommands } from './ownerless-clients.ts';
import { serviceCredentialCommands } from './service-credentials.ts';
import { userCommands } from './users.ts';
import { webhookCommands } from './webhooks.ts';

const commands = new Map<string, Command>(
  [
    userCommands,
    accessCommands,
    clientCommands,
    ownerlessClientCommands,
    serviceCredentialCommands,
    webhookCommands,
    auditCommands,
    operationCommands,
  ].flatMap((some) => Object.entries(some)),
);

const help = () => `Signet ${version}: an OpenID Connect and OAuth identity provider.

Usage: signet <command> [options]

${table([['serve', 'Starts the server. Configured by SIGNET_* in the environment; none is needed.'], ...[...commands].map(([name, { summary }]) => [name, summary])])}

Every command works on the same store while the server runs, and knows --help and --json.
Exit codes: 0 done, 1 refused or failed, 2 not understood.
`;

/** @returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [first, second, third] = args;
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    process.stdout.write(help());
    return first === undefined ? 2 : 0;
  }
  if (first === '--version') {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  if (first === 'serve') return serve(args.slice(1));
  const name = [first, `${first} ${second}`, `${first} ${second} ${third}`].find((one) => commands.has(one)) ?? '';
  const command = commands.get(name);
  const prefix = args.slice(0, args.at(-1) === '--help' ? -1 : undefined).join(' ');
  const group = [...commands].filter(([one]) => one.startsWith(`${prefix} `));
  if (!command && group.length > 0) {
    process.stdout.write(`${table(group.map(([one, { summary }]) => [one, summary]))}\n`);
    return args.at(-1) === '--help' ? 0 : 2;
  }
  if (!command) throw new UsageError(`There is no command ${JSON.stringify([first, second].join(' ').trim())}.`);
  return run(command, args.slice(name.split(' ').length));
}

async function serve(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(
      'Usage: signet serve\n\nStarts the server. See docs/configuration.md for the SIGNET_* settings.\n',
    );
    return 0;
  }
  if (args.length > 0) throw new UsageError('serve takes no arguments; it is configured by the environment.');
  const { serve: start } = await import('../main.ts');
  await start(readConfig());
  return Number.NaN; // goes on until a signal
}

async function run(command: Command, args: readonly string[]): Promise<number> {
  const { values, operands } = readArguments(command, args);
  if (values.help) {
    process.stdout.write(helpOf(command));
    return 0;
  }
  const config = readConfig();
  if (!command.begins) refuseEmptyFolder(config);
  const deps = await openDeps(config, { clock: Date.now, log: openLog(config.logLevel) });
  try {
    const report = await command.run(deps, values, operands);
    if (report === 'printed') return 0;
    process.stdout.write(values.json ? `${JSON.stringify(report.json)}\n` : `${report.text}\n`);
    return report.failed ? 1 : 0;
  } finally {
    await deps.db.close();
  }
}

/** A mistyped folder is told of, and not filled with a new store and a new key. */
function refuseEmptyFolder({ dataDir, databaseUrl }: Config): void {
  if (databaseUrl || existsSync(join(dataDir, databaseFile))) return;
  throw new ConfigError(`There is no database in ${dataDir}. Set SIGNET_DATA_DIR to the folder that the server uses.`);
}

const kinds = [
  [UsageError, 'usage_error'],
  [ConfigError, 'configuration_error'],
  [MigrationRefused, 'migration_refused'],
  [StoreUnavailable, 'store_unavailable'],
] as const;

/** What went wrong as a machine reads it; undefined for what nobody foresaw. */
function jsonOf(error: unknown): object | undefined {
  if (error instanceof RequestError) {
    return { error: error.code, error_description: error.message, ...error.details };
  }
  const [, name] = kinds.find(([kind]) => error instanceof kind) ?? [];
  return name && { error: name, error_description: (error as Error).message + reasonOf(error) };
}

/** One sentence for a person, one JSON object for a machine; a stack only for what nobody foresaw. */
function fail(error: unknown, asJson: boolean): number {
  const code = error instanceof UsageError ? 2 : 1;
  const json = jsonOf(error);
  if (asJson && json) {
    process.stdout.write(`${JSON.stringify(json)}\n`);
    return code;
  }
  const { code: systemCode, syscall, message, stack } = error as NodeJS.ErrnoException;
  const text =
    error instanceof RequestError
      ? refusalText(error)
      : syscall !== undefined && listenCalls.has(syscall)
        ? listenProblem(systemCode)
        : json
          ? message + reasonOf(error)
          : stack;
  process.stderr.write(`signet: ${text}\n`);
  if (code === 2) process.stderr.write('Try: signet --help\n');
  return code;
}

/** A worker hears from its supervisor of a failed `bind`. */
const listenCalls = new Set(['listen', 'bind', 'getaddrinfo']);

const listenProblem = (code: string | undefined): string =>
  code === 'EADDRINUSE'
    ? 'That address is in use: another server runs there. Stop it, or set SIGNET_PORT.'
    : `Cannot listen on that address (${code}). Check SIGNET_HOST and SIGNET_PORT.`;

/** What the engine said. Neither engine repeats a password or a URL in it. */
function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  if (!(error instanceof StoreUnavailable) || !(cause instanceof Error)) return '';
  return ` (${cause.message || (cause as NodeJS.ErrnoException).code})`;
}

const args = process.argv.slice(2);
const code = await main(args).catch((error: unknown) => fail(error, args.includes('--json')));
if (!Number.isNaN(code)) process.exitCode = code;
if (code > 0 && args[0] === 'serve') process.exit(code);
