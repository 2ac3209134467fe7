import Type, { type TSchema } from 'typebox';
import type { Deps } from '../app/deps.ts';
import type { Operation } from '../platform/http/operation.ts';
import type { Command, Option, Typed } from './command.ts';

type Member = TSchema & {
  description?: string;
  type?: string;
  enum?: readonly string[];
  items?: { enum?: readonly string[]; format?: string };
  minimum?: number;
  maximum?: number;
  default?: unknown;
};

/** The commands of the operations that have one, by name. They act for the command line. */
export const commandsOf = (operations: readonly Operation<Deps>[]): Record<string, Command> =>
  Object.fromEntries(
    operations.flatMap((one) => (one.command ? [[one.command.name, commandOf(one, one.command)]] : [])),
  );

function commandOf(
  { path, summary, parameters = {}, query = {}, body, run }: Operation<Deps>,
  part: NonNullable<Operation<Deps>['command']>,
): Command {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const inBody: Record<string, Member> =
    (body as { properties?: Record<string, Member> } | undefined)?.properties ?? {};
  const members = { ...(query as Record<string, Member>), ...inBody };
  const optionOf = Object.fromEntries(Object.entries(part.options ?? {}).map(([option, member]) => [member, option]));
  const options = Object.entries(members).map(
    ([member, schema]) => [optionOf[member] ?? member.replaceAll('_', '-'), member, schema] as const,
  );
  const inputOf = (given: Typed) => {
    const typed = (wanted: object) =>
      Object.fromEntries(
        options
          .filter(([, member]) => member in wanted)
          .map(([option, member, schema]) => [member, given[option] ?? schema.default]),
      );
    const operands = Object.fromEntries(names.map((name) => [name, given[name]]));
    return { caller: { actor: 'cli' }, ...operands, query: typed(query), body: typed(inBody) };
  };
  return {
    summary: part.summary ?? `${summary}.`,
    operands: Object.fromEntries(names.map((name) => [name, { value: name, help: parameters[name] }])),
    options: Object.fromEntries(options.map(([option, , schema]) => [option, optionFor(option, schema)])),
    async run(deps, given) {
      const input = inputOf(given);
      const result = await run(deps, input);
      return { json: part.json ? part.json(result, input) : result, text: part.text(result, input) };
    },
  };
}

/** Lists of words may stand in one argument; text that may hold spaces comes once for each. */
function separatorOf({ enum: choices, format }: NonNullable<Member['items']>): RegExp | 'never' {
  if (choices) return /[\s,]+/;
  return format === 'uri' ? /\s+/ : 'never';
}

function optionFor(name: string, schema: Member): Option {
  const { type, enum: choices, items, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const isOptional = Type.IsOptional(schema) || 'default' in schema;
  const help = helpOf(schema);
  const required = isOptional ? {} : ({ required: true } as const);
  if (type === 'array' && items) return { value: name, between: separatorOf(items), help, ...required };
  if (type === 'integer') return { value: 'n', whole: [minimum, maximum], help, ...required };
  if (choices) return { value: name, oneOf: choices, help, ...required };
  return { value: name === 'after' || name === 'before' ? 'place' : name, help, ...required };
}

function helpOf({ description = '', items, default: otherwise }: Member): string {
  const begin = /^[A-Z][a-z]/.test(description) ? description[0]?.toLowerCase() + description.slice(1) : description;
  const choices = items?.enum && `one of ${items.enum.join(', ')}`;
  const fallback = otherwise === undefined ? undefined : `${otherwise} without it`;
  return [begin.replace(/\.$/, ''), choices, fallback].filter(Boolean).join('; ');
}
