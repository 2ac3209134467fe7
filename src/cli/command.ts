import type { Readable, Writable } from 'node:stream';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Deps } from '../app/deps.ts';
import { version } from '../platform/config.ts';
import type { Report } from '../platform/report.ts';

/** What a command is typed into and printed on. */
export type Terminal = { stdin: Readable; stdout: Writable; stderr: Writable };

/** What one argument takes; without any of the three it is a switch. Help and refusals are made from it. */
type Argument = {
  /** What to type, as `<value>` in the help. */
  readonly value?: string;
  readonly oneOf?: readonly string[];
  /** `Number.MAX_SAFE_INTEGER` is as good as no end. */
  readonly integer?: readonly [least: number, most: number];
};

type Operand = Argument & {
  /** It may be left out, like all that come after it. */
  readonly optional?: true;
};

export type Option = Argument & {
  readonly help: string;
  readonly required?: true;
  /**
   * It takes several: the option comes more than once, or they stand in one argument with this between them. `never`:
   * whatever stands in one argument is one.
   */
  readonly separator?: RegExp | 'never';
};

type Read<A extends Argument> = A extends { separator: RegExp | 'never' }
  ? string[]
  : A extends { integer: unknown }
    ? number
    : A extends { oneOf: readonly (infer One)[] }
      ? One
      : A extends { value: string }
        ? string
        : boolean;

type Optional<O extends Option> = O extends { required: true }
  ? Read<O>
  : boolean extends Read<O>
    ? boolean
    : Read<O> | undefined;

/** What was typed, by the names of the operands and options, each as what it takes. */
type Given<Operands extends Record<string, Operand>, Options extends Record<string, Option>> = {
  [Name in keyof Operands]: Operands[Name] extends { optional: true }
    ? Read<Operands[Name]> | undefined
    : Read<Operands[Name]>;
} & { [Name in keyof Options]: Optional<Options[Name]> };

type Shape<Operands, Options> = {
  summary: string;
  /** In the order in which they are typed. */
  operands?: Operands;
  /** `--json` and `--help` are everywhere. */
  options?: Options;
  /** It sets the store up: tables, master key, signing keys. Every other command takes it as it is, or refuses it. */
  prepares?: true;
};

export type Typed = Record<string, string | number | boolean | string[] | undefined>;

export type Command = Shape<Readonly<Record<string, Operand>>, Readonly<Record<string, Option>>> & {
  /** Undefined when it has written to standard output itself. */
  run(deps: Deps, given: Typed, terminal: Terminal): Promise<Report | undefined>;
};

/** One command. What `run` is given has the types that operands and options say. */
export function command<
  const Operands extends Record<string, Operand> = Record<never, never>,
  const Options extends Record<string, Option> = Record<never, never>,
>(
  shape: Shape<Operands, Options> & {
    run(deps: Deps, given: Given<Operands, Options>, terminal: Terminal): Promise<Report | undefined>;
  },
): Command {
  return { ...shape, run: (deps, given, terminal) => shape.run(deps, given as Given<Operands, Options>, terminal) };
}

/** The command was not understood; nothing was done. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

const isSwitch = ({ value, oneOf, integer }: Argument) => !value && !oneOf && !integer;

/**
 * @returns what was typed, or `help` when that was asked for.
 * @throws {UsageError} with a sentence about what is missing or unknown.
 */
export function readArguments(
  { operands = {}, options = {} }: Command,
  args: readonly string[],
): { given: Typed; json: boolean } | 'help' {
  const { values, positionals } = parse(options, args);
  if (values.help) return 'help';
  const names = Object.keys(operands);
  const required = Object.values(operands).filter(({ optional }) => !optional).length;
  if (positionals.length < required || positionals.length > names.length) {
    const wanted = Object.values(operands).map(operandOf).join(' ');
    throw new UsageError(
      wanted ? `Expected arguments: ${wanted}.` : 'This command takes no arguments except its options.',
    );
  }
  const given: Typed = {};
  for (const [index, [name, operand]] of Object.entries(operands).entries()) {
    const text = positionals[index];
    given[name] = text === undefined ? undefined : readOne(operand.value ?? name, operand, text);
  }
  for (const [name, option] of Object.entries(options)) given[name] = readOption(name, option, values[name]);
  return { given, json: values.json !== undefined };
}

type Parsed = { values: Record<string, (string | boolean)[] | undefined>; positionals: string[] };

function parse(options: Readonly<Record<string, Option>>, args: readonly string[]): Parsed {
  const accepted: NonNullable<ParseArgsConfig['options']> = {
    json: { type: 'boolean', multiple: true },
    help: { type: 'boolean', short: 'h', multiple: true },
  };
  for (const [name, option] of Object.entries(options)) {
    accepted[name] = { type: isSwitch(option) ? 'boolean' : 'string', multiple: true };
  }
  try {
    return parseArgs({ args: [...args], options: accepted, allowPositionals: true }) as Parsed;
  } catch (error) {
    throw new UsageError(usageProblem(error as NodeJS.ErrnoException));
  }
}

/** Node's sentences go on about what else may have been meant, over several lines. */
function usageProblem({ code, message }: NodeJS.ErrnoException): string {
  const [, option = ''] = /'(--?[^\s'=]{1,60})/.exec(message) ?? [];
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `Unknown option${option ? `: ${option}` : ''}.`;
  if (message.includes('does not take')) return `${option} does not take a value.`;
  if (message.includes('ambiguous'))
    return `${option} requires a value. For a value that starts with a dash: ${option}=-...`;
  return message.includes('missing') ? `${option} requires a value.` : message;
}

function readOption(name: string, option: Option, typed: (string | boolean)[] | undefined): Typed[string] {
  if (typed === undefined) {
    if (option.required) throw new UsageError(`--${name} is missing.`);
    return isSwitch(option) ? false : undefined;
  }
  if (option.separator === 'never') return typed.map(String).filter(Boolean);
  if (option.separator) return typed.flatMap((text) => String(text).split(option.separator ?? '')).filter(Boolean);
  const [only] = typed;
  if (typed.length > 1) throw new UsageError(`--${name} was given more than once.`);
  return isSwitch(option) ? true : readOne(`--${name}`, option, String(only));
}

function readOne(name: string, { oneOf, integer }: Argument, text: string): string | number {
  if (oneOf && !oneOf.includes(text)) {
    throw new UsageError(`${name} must be ${oneOf.length === 2 ? oneOf.join(' or ') : `one of: ${oneOf.join(', ')}`}.`);
  }
  if (!integer) return text;
  const [least, most] = integer;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  const range = most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : ' on';
  throw new UsageError(`${name} must be a whole number from ${least}${range}.`);
}

/** As the help writes what stands in its place. */
export function placeholder({ value, oneOf, separator }: Argument & Pick<Option, 'separator'>): string {
  if (separator && separator !== 'never') return `"<${value}> ..."`;
  return oneOf && !value ? oneOf.join('|') : `<${value}>`;
}

const operandOf = (operand: Operand): string => (operand.optional ? `[${placeholder(operand)}]` : placeholder(operand));

const asTyped = ([name, option]: readonly [string, Option]): string =>
  isSwitch(option) ? `--${name}` : `--${name} ${placeholder(option)}`;

const width = 80;

/** Everything that can be typed, by what it is about. */
export function overviewOf(groups: readonly (readonly [heading: string, commands: readonly string[][]])[]): string {
  const said = groups.map(([heading, commands]) => `${heading}\n${columns(commands)}`);
  return `Signet ${version}: an OpenID Connect and OAuth identity provider.

Usage: signet <command> [options]

${said.join('\n\n')}

Commands work on the database of a running server, too. Every command supports
--help and --json. Exit codes: 0 success, 1 refused or failed, 2 usage error.
`;
}

export function helpOf(name: string, { summary, operands = {}, options = {} }: Command): string {
  const known = Object.entries(options);
  const pieces = [
    ...Object.values(operands).map(operandOf),
    ...known.map((one) => (one[1].required ? asTyped(one) : `[${asTyped(one)}]`)),
  ];
  const explained = known.map((one) => [asTyped(one), explain(one[1])]);
  const everywhere = [
    ['--json', 'print JSON'],
    ['--help', 'show this help'],
  ];
  const begin = `Usage: signet ${name}`;
  const inOneLine = [begin, ...pieces].join(' ');
  const usage = inOneLine.length <= width ? inOneLine : [begin, ...wrap(pieces, width - 4)].join('\n    ');
  return `${usage}

${wrap(summary.split(' '), width).join('\n')}

Options:
${columns([...explained, ...everywhere])}
`;
}

function explain({ help, value, oneOf, integer, separator }: Option): string {
  if (oneOf && value) return `${help}; one of ${oneOf.join(', ')}`;
  if (integer && integer[1] < Number.MAX_SAFE_INTEGER) return `${help}; ${integer[0]} to ${integer[1]}`;
  if (separator === 'never') return `${help}; can be repeated`;
  return separator ? `${help}; separate several with spaces` : help;
}

/** Two columns. The second one is wrapped within what the first leaves of the line. */
export function columns(rows: readonly (readonly string[])[]): string {
  const first = Math.min(30, Math.max(...rows.map(([cell = '']) => cell.length)));
  return rows.map(([cell = '', text = '']) => row(cell, text, first)).join('\n');
}

function row(cell: string, text: string, first: number): string {
  const margin = ' '.repeat(first + 4);
  const wrapped = wrap(text.split(' '), width - margin.length).join(`\n${margin}`);
  return cell.length > first ? `  ${cell}\n${margin}${wrapped}` : `  ${cell.padEnd(first)}  ${wrapped}`;
}

/** Lines of at most so many characters, unless one piece is longer. */
function wrap(pieces: readonly string[], most: number): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + piece.length <= most) lines[lines.length - 1] = `${last} ${piece}`;
    else lines.push(piece);
  }
  return lines;
}
