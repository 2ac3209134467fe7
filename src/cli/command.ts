import type { Readable, Writable } from 'node:stream';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Config } from '../app/config.ts';
import type { Deps } from '../oauth/deps.ts';
import { version } from '../platform/config.ts';
import type { ConfigError } from '../platform/errors.ts';
import type { Report } from '../platform/report.ts';

export type Terminal = {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  env?: Readonly<Record<string, string | undefined>>;
};

/** What a command is run with besides. */
type Surroundings = Terminal & {
  /** A variable of the environment that is no setting, for what refers to one by its name. */
  variable(name: string): string | undefined;
};

/** Without any of the three it is a switch. */
type Argument = {
  /** The placeholder `<value>` in the help. */
  readonly value?: string;
  readonly oneOf?: readonly string[];
  /** `Number.MAX_SAFE_INTEGER`: no maximum. */
  readonly integer?: readonly [min: number, max: number];
};

type Operand = Argument & { readonly optional?: true };

export type Option = Argument & {
  readonly help: string;
  readonly required?: true;
  /** For the help only. */
  readonly default?: unknown;
  /** It takes several values: the option is repeated, or they are in one argument with this between them, unless `never`. */
  readonly separator?: RegExp | 'never';
  /** One letter, after one dash. */
  readonly short?: string;
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

/** What was typed, by the names of the operands and options. */
type Given<Operands extends Record<string, Operand>, Options extends Record<string, Option>> = {
  [Name in keyof Operands]: Operands[Name] extends { optional: true }
    ? Read<Operands[Name]> | undefined
    : Read<Operands[Name]>;
} & { [Name in keyof Options]: Optional<Options[Name]> };

type Shape<Operands, Options> = {
  summary: string;
  /** In the order in which they are typed. */
  operands?: Operands;
  /** Besides those of {@link everywhere}. */
  options?: Options;
  /** What cannot be undone. On a terminal, the user is asked first; the command has the switch `yes` against that. */
  confirm?: string | ((given: Typed) => string | undefined);
  /** It creates tables, master key and signing keys. Every other command refuses a store without them. */
  prepares?: true;
  /** It shows what is there while a part of the store is away: see `showingWhatIsThere`. */
  onlyShows?: boolean;
  /** Instead of a refusal of settings that cannot be used. */
  reportSettings?(problem: ConfigError): Promise<Report>;
};

/** The answer to a question was not yes; nothing was done. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

export type Typed = Record<string, string | number | boolean | string[] | undefined>;

export type Command = Shape<Readonly<Record<string, Operand>>, Readonly<Record<string, Option>>> & {
  /** Undefined when it has written to standard output itself, as JSON lines if `json`. */
  run(deps: Deps, given: Typed, terminal: Surroundings, json: boolean): Promise<Report | undefined>;
  /** Instead of `run`, of a command that no store is opened for. */
  runWithoutStore?(config: Config, given: Typed, terminal: Terminal, json: boolean): Promise<Report>;
};

/** The arguments of `run` have the types that follow from operands and options. */
export const command = <
  const Operands extends Record<string, Operand> = Record<never, never>,
  const Options extends Record<string, Option> = Record<never, never>,
>(
  shape: Shape<Operands, Options> & {
    run(
      deps: Deps,
      given: Given<Operands, Options>,
      terminal: Surroundings,
      json: boolean,
    ): Promise<Report | undefined>;
  },
) => shape as unknown as Command;

/** A {@link command} that no store is opened for. */
export const commandWithoutStore = <
  const Operands extends Record<string, Operand> = Record<never, never>,
  const Options extends Record<string, Option> = Record<never, never>,
>(
  shape: Shape<Operands, Options> & {
    runWithoutStore(
      config: Config,
      given: Given<Operands, Options>,
      terminal: Terminal,
      json: boolean,
    ): Promise<Report>;
  },
) => ({ ...shape, run: async () => undefined }) as unknown as Command;

/** Exit code 2; nothing was done. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** The options of every command. */
const everywhere = {
  wide: { help: 'print wide tables in full on a terminal, too' },
  json: { help: 'print the result as JSON' },
  help: { help: 'show this help' },
} as const;

const withoutQuestion = { yes: { help: 'do not ask first; without a terminal, nothing is asked' } } as const;

const ownOptionsOf = ({ options = {}, confirm }: Command): Readonly<Record<string, Option>> => ({
  ...options,
  ...(confirm && withoutQuestion),
});

/** By their names, as they are typed. */
export const optionsOf = (command: Command): Readonly<Record<string, Option>> => ({
  ...ownOptionsOf(command),
  ...everywhere,
});

export const takesValue = (argument: Argument): boolean => !isSwitch(argument);

const isSwitch = ({ value, oneOf, integer }: Argument) => !value && !oneOf && !integer;

export function readArguments(
  command: Command,
  args: readonly string[],
): { given: Typed; json: boolean; wide: boolean } | 'help' {
  const { operands = {} } = command;
  const options = ownOptionsOf(command);
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
  for (const [index, text] of positionals.entries()) {
    const name = names[index]!;
    given[name] = readOne(operands[name]!.value ?? name, operands[name]!, text);
  }
  for (const [name, option] of Object.entries(options)) given[name] = readOption(name, option, values[name]);
  return { given, json: values.json !== undefined, wide: values.wide !== undefined };
}

type Parsed = { values: Record<string, (string | boolean)[] | undefined>; positionals: string[] };

function parse(options: Readonly<Record<string, Option>>, args: readonly string[]): Parsed {
  const accepted: NonNullable<ParseArgsConfig['options']> = {
    wide: { type: 'boolean', multiple: true },
    json: { type: 'boolean', multiple: true },
    help: { type: 'boolean', short: 'h', multiple: true },
  };
  for (const [name, option] of Object.entries(options)) {
    const { short } = option;
    accepted[name] = { type: isSwitch(option) ? 'boolean' : 'string', multiple: true, ...(short && { short }) };
  }
  try {
    return parseArgs({ args: [...args], options: accepted, allowPositionals: true }) as Parsed;
  } catch (error) {
    throw new UsageError(usageProblem(error as NodeJS.ErrnoException));
  }
}

/** Node's messages are longer than a line. */
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
  const [min, max] = integer;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `not less than ${min}`;
  throw new UsageError(`${name} must be a whole number ${range}.`);
}

function placeholder({ value, oneOf, separator }: Argument & Pick<Option, 'separator'>): string {
  if (separator && separator !== 'never') return `"<${value}> ..."`;
  return oneOf && !value ? oneOf.join('|') : `<${value}>`;
}

const operandOf = (operand: Operand): string => (operand.optional ? `[${placeholder(operand)}]` : placeholder(operand));

const asTyped = (name: string, option: Option): string =>
  isSwitch(option) ? `--${name}` : `--${name} ${placeholder(option)}`;

const width = 80;

export function overviewOf(groups: readonly (readonly [heading: string, commands: readonly string[][]])[]): string {
  const sections = groups.map(([heading, commands]) => `${heading}\n${columns(commands)}`);
  return `Signet ${version}: an OpenID Connect and OAuth identity provider.

Usage: signet <command> [options]

${sections.join('\n\n')}

For options and an example: signet <command> --help. For the commands of a
topic with all that they say and examples: signet users --help

Every command accepts --help, --json and --wide. All but restore work while the
server runs. On a terminal, a command asks before it does what cannot be undone,
unless it is given --yes or --json; a script is asked nothing.

Exit codes: 0 success; 1 refused, failed or cancelled; 2 usage error.
`;
}

export function helpOf(name: string, command: Command, example?: string): string {
  const { summary, operands = {} } = command;
  const rows = Object.entries(ownOptionsOf(command)).map(([name, option]) => ({
    typed: asTyped(name, option),
    option,
  }));
  const pieces = [
    ...Object.values(operands).map(operandOf),
    ...rows.map(({ typed, option }) => (option.required ? typed : `[${typed}]`)),
  ];
  const explained = rows.map(({ typed, option }) => [typed, explain(option)]);
  const begin = `Usage: signet ${name}`;
  const inOneLine = [begin, ...pieces].join(' ');
  const usage = inOneLine.length <= width ? inOneLine : [begin, ...wrap(pieces, width - 4)].join('\n    ');
  const choices = Object.values(operands).flatMap(({ value, oneOf }) =>
    value && oneOf ? [`<${value}> is one of ${oneOf.join(', ')}.`] : [],
  );
  return `${usage}

${[summary, ...choices].map((text) => wrap(text.split(' '), width).join('\n')).join('\n\n')}

Options:
${columns([...explained, ...Object.entries(everywhere).map(([name, { help }]) => [`--${name}`, help])])}
${example === undefined ? '' : `\nExample:\n${exampleText(example)}`}`;
}

/** As a shell takes it, also over several lines. */
export function exampleText(example: string): string {
  const words = example.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  return `  ${wrap(['signet', ...words], width - 8).join(' \\\n      ')}\n`;
}

function explain({ help, value, oneOf, integer, separator, default: otherwise, short }: Option): string {
  const notes = [
    oneOf && value && `${separator ? 'any' : 'one'} of ${oneOf.join(', ')}`,
    integer && integer[1] < Number.MAX_SAFE_INTEGER && `${integer[0]} to ${integer[1]}`,
    otherwise !== undefined && `default: ${otherwise}`,
    short && `short: -${short}`,
    separator && (separator === 'never' ? 'repeatable' : 'separated by spaces'),
  ].filter(Boolean);
  return notes.length > 0 ? `${help} (${notes.join('; ')})` : help;
}

/** Two columns, of which the second is wrapped. */
export function columns(rows: readonly (readonly string[])[]): string {
  const first = Math.min(30, Math.max(...rows.map(([cell = '']) => cell.length)));
  const margin = ' '.repeat(first + 4);
  const row = ([cell = '', text = '']: readonly string[]) => {
    const wrapped = wrap(text.split(' '), width - margin.length).join(`\n${margin}`);
    return cell.length > first ? `  ${cell}\n${margin}${wrapped}` : `  ${cell.padEnd(first)}  ${wrapped}`;
  };
  return rows.map(row).join('\n');
}

/** Lines of at most `max` characters, unless one piece is longer. */
function wrap(pieces: readonly string[], max: number): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + piece.length <= max) lines[lines.length - 1] = `${last} ${piece}`;
    else lines.push(piece);
  }
  return lines;
}
