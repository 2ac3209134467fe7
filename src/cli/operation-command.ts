import Type, { type TSchema } from 'typebox';
import { inviteAdministrator } from '../admin/invite-administrator.ts';
import type { Deps } from '../oauth/deps.ts';
import type { Operation } from '../platform/http/operation.ts';
import { time } from '../platform/report.ts';
import { type Command, command, type Option, type Typed, UsageError } from './command.ts';

type Member = TSchema & {
  description?: string;
  type?: string;
  enum?: readonly string[];
  items?: { enum?: readonly string[]; format?: string };
  minimum?: number;
  maximum?: number;
  default?: unknown;
};

export const commandsOf = (operations: Readonly<Record<string, Operation<Deps>>>): Record<string, Command> =>
  Object.fromEntries(
    Object.values(operations).flatMap((one) => (one.command ? [[one.command.name, commandOf(one, one.command)]] : [])),
  );

function commandOf(one: Operation<Deps>, part: NonNullable<Operation<Deps>['command']>): Command {
  const inPath = [...one.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const inQuery = (one.query ?? {}) as Record<string, Member>;
  const inBody = (one.body as { properties?: Record<string, Member> } | undefined)?.properties ?? {};
  const members = { ...inQuery, ...inBody };
  const { operands = {}, options = {}, optional = [], defaults = {}, fixed = {} } = part;
  const operandNames = [...new Set([...inPath, ...Object.keys(operands)])];
  const optionOf = Object.fromEntries(Object.entries(options).map(([option, member]) => [member, option]));
  const nameOf = (member: string) =>
    operandNames.includes(member) ? member : (optionOf[member] ?? member.replaceAll('_', '-'));

  async function inputOf(deps: Deps, given: Typed) {
    const valueFor = (member: string, schema: Member) =>
      fixed[member] ?? given[nameOf(member)] ?? defaults[member] ?? schema.default;
    const valuesOf = (wanted: Record<string, Member>) =>
      Object.fromEntries(Object.entries(wanted).map(([member, schema]) => [member, valueFor(member, schema)]));
    const { minProperties = 0 } = (one.body ?? {}) as { minProperties?: number };
    if (Object.keys(inBody).filter((member) => given[nameOf(member)] !== undefined).length < minProperties) {
      const names = Object.keys(inBody).map((member) => `--${nameOf(member)}`);
      throw new UsageError(`Nothing to change: give at least one of ${names.join(', ')}.`);
    }
    const resolved = inPath.map(async (name) => {
      const typed = String(given[name]);
      return [name, (await operands[name]?.resolve?.(deps, typed)) ?? typed];
    });
    const ids = Object.fromEntries(await Promise.all(resolved));
    return { caller: { actor: 'cli' }, ...ids, query: valuesOf(inQuery), body: valuesOf(inBody) };
  }

  return {
    summary: part.summary ?? `${one.summary}.`,
    operands: Object.fromEntries(
      operandNames.map((name) => [
        name,
        operands[name]?.oneOf ? operands[name] : { value: operands[name]?.value ?? name },
      ]),
    ),
    options: Object.fromEntries(
      Object.entries(members)
        .filter(([member]) => !operandNames.includes(member) && !(member in fixed))
        .map(([member, schema]) => [nameOf(member), optionFor(nameOf(member), schema, optional.includes(member))]),
    ),
    async run(deps, given) {
      const input = await inputOf(deps, given);
      const result = await one.run(deps, input);
      return {
        json: part.json ? await part.json(result, input, deps) : result,
        text: await part.text(result, input, deps),
        failed: part.failed?.(result),
      };
    },
  };
}

/** Several words or URIs fit in one argument; for text with spaces the option is repeated. */
function separatorOf({ enum: choices, format }: NonNullable<Member['items']>): RegExp | 'never' {
  if (choices) return /[\s,]+/;
  return format === 'uri' ? /\s+/ : 'never';
}

function optionFor(name: string, schema: Member, mayBeLeftOut: boolean): Option {
  const { type, enum: choices, items, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const isOptional = mayBeLeftOut || Type.IsOptional(schema) || 'default' in schema;
  const common = { help: helpOf(schema), required: isOptional ? undefined : (true as const) };
  if (type === 'array' && items) return { value: name, separator: separatorOf(items), ...common };
  if (type === 'integer') return { value: 'n', integer: [minimum, maximum], ...common };
  if (choices) return { value: name, oneOf: choices, ...common };
  return { value: name === 'after' || name === 'before' ? 'place' : name, ...common };
}

function helpOf({ description = '', items, default: otherwise }: Member): string {
  const begin = /^[A-Z][a-z]/.test(description) ? description[0]?.toLowerCase() + description.slice(1) : description;
  const choices = items?.enum && `one of ${items.enum.join(', ')}`;
  const fallback = otherwise === undefined ? undefined : `default ${otherwise}`;
  return [begin.replace(/\.$/, ''), choices, fallback].filter(Boolean).join('; ');
}

export const operationCommands = {
  serve: command({
    summary: 'Start the server. Configured by SIGNET_* environment variables (docs/configuration.md), all optional.',
    prepares: true,
    run: async () => undefined, // the command line starts the server instead
  }),
  migrate: command({
    prepares: true,
    summary:
      'Migrate the database to this version and create missing keys. Starting the server does the same; no other command does.',
    // Opening the store has migrated it.
    run: async () => ({ json: { migrated: true }, text: 'The database is up to date.' }),
  }),
  'admin invite': command({
    summary: 'Print a link that creates one administrator account, once, within a day.',
    async run(deps) {
      const invitation = await inviteAdministrator(deps, 'cli');
      return { json: invitation, text: `${invitation.url}\nWorks once, until ${time(invitation.expires_at)}.` };
    },
  }),
};
