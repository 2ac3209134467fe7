import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Deps } from '../deps.ts';
import type { RequestError } from '../errors.ts';

/** What a command tells: `json` for machines, `text` for people. */
export type Report = {
  json: unknown;
  text: string;
  /** True when what it tells is bad news: exit code 1. */
  failed?: boolean;
};

export type Values = Record<string, string | boolean | undefined>;

export type Command = {
  /** As typed after `signet`, with its arguments. */
  usage: string;
  summary: string;
  /** Each option with its line of help. `json` and `help` are everywhere. */
  options?: Record<
    string,
    {
      type: 'string' | 'boolean';
      help: string;
      required?: boolean /** May come more than once; joined by spaces. */;
      many?: true;
    }
  >;
  /** It may begin with an empty data folder. Every other one is about what is there. */
  begins?: true;
  /** Names of positional arguments, all required. */
  operands?: readonly string[];
  /** `printed`: it has written to standard output itself. */
  run(deps: Deps, values: Values, operands: readonly string[]): Promise<Report | 'printed'>;
};

/** The command was not understood; nothing was done. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** @throws {UsageError} with a sentence about what is missing or unknown. */
export function readArguments(command: Command, args: readonly string[]): { values: Values; operands: string[] } {
  const options: NonNullable<ParseArgsConfig['options']> = { json: { type: 'boolean' }, help: { type: 'boolean' } };
  for (const [name, { type }] of Object.entries(command.options ?? {})) options[name] = { type, multiple: true };
  let parsed: { values: Record<string, boolean | (string | boolean)[]>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true }) as typeof parsed;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { positionals } = parsed;
  const values: Values = {};
  for (const [name, given] of Object.entries(parsed.values)) {
    const all = [given].flat();
    if (all.length > 1 && !command.options?.[name]?.many) throw new UsageError(`--${name} was given more than once.`);
    values[name] = all.length > 1 ? all.join(' ') : all[0];
  }
  if (values.help) return { values, operands: [] };
  const operands = command.operands ?? [];
  if (positionals.length !== operands.length) {
    throw new UsageError(
      operands.length === 0
        ? 'This command takes no arguments besides its options.'
        : `It takes: ${operands.map((name) => `<${name}>`).join(' ')}.`,
    );
  }
  for (const [name, option] of Object.entries(command.options ?? {})) {
    if (option.required && values[name] === undefined) throw new UsageError(`--${name} is missing.`);
  }
  return { values, operands: positionals };
}

export const helpOf = (command: Command): string => {
  const options: [string, string][] = Object.entries(command.options ?? {}).map(([name, { type, help }]) => [
    `--${name}${type === 'string' ? ' <value>' : ''}`,
    help,
  ]);
  options.push(['--json', 'print JSON, for machines'], ['--help', 'show this']);
  return `Usage: signet ${command.usage}\n\n${command.summary}\n\nOptions:\n${table(options)}\n`;
};

/** Columns, two spaces apart, each as wide as its widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

export const time = (seconds: number | null | undefined): string =>
  seconds === null || seconds === undefined ? '-' : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/** A refusal as the command line says it: the sentence, then what each field wants. */
export function refusalText(error: RequestError): string {
  const fields = Array.isArray(error.details.fields)
    ? (error.details.fields as { path: string; message: string }[])
    : [];
  const status = error.details.current_status ? ` It is ${error.details.current_status}.` : '';
  return [`${error.message}${status}`, ...fields.map(({ path, message }) => `  ${path}: ${message}`)].join('\n');
}

/** Of an option that takes several between spaces. */
export const words = (value: string | boolean | undefined): string[] => String(value).split(/\s+/).filter(Boolean);

/** @throws {UsageError} for anything but digits. */
export function readNumber(name: string, value: string | boolean | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(String(value))) throw new UsageError(`--${name} takes a whole number.`);
  return Number(value);
}
