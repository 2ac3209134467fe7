import type { Deps } from '../oauth/deps.ts';
import { isOfNoChange } from '../platform/edited.ts';
import { mayGoWithout, type Operation } from '../platform/http/operation.ts';
import { isOptional, type TSchema } from '../platform/schema.ts';
import { type Command, type Option, type Terminal, type Typed, UsageError } from './command.ts';
import { readTypedSecret } from './password-prompt.ts';

type Member = TSchema & {
  description?: string;
  type?: string;
  enum?: readonly string[];
  items?: { enum?: readonly string[]; format?: string };
  minimum?: number;
  maximum?: number;
  default?: unknown;
  anyOf?: readonly Member[];
};

export const commandsOf = (operations: Readonly<Record<string, Operation<Deps>>>): Record<string, Command> =>
  Object.fromEntries(
    Object.values(operations).flatMap((one) => (one.command ? [[one.command.name, commandOf(one, one.command)]] : [])),
  );

/** What a command says that has found everything as it was asked for. */
export const nothingChanged = 'Nothing was changed.';

function commandOf(one: Operation<Deps>, part: NonNullable<Operation<Deps>['command']>): Command {
  const inPath = [...one.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const inQuery = (one.query ?? {}) as Record<string, Member>;
  const inBody = (one.body as { properties?: Record<string, Member> } | undefined)?.properties ?? {};
  const members = { ...inQuery, ...inBody };
  const { operands = {}, options = {}, optional = [], defaults = {}, fixed = {}, secret } = part;
  const operandNames = [...new Set([...inPath, ...Object.keys(operands)])];
  const optionOf = Object.fromEntries(Object.entries(options).map(([option, member]) => [member, option]));
  const nameOf = (member: string) =>
    operandNames.includes(member) ? member : (optionOf[member] ?? member.replaceAll('_', '-'));

  const secretOption = secret && `${nameOf(secret.member)}-stdin`;
  const isTyped = (member: string, given: Typed) =>
    given[nameOf(member)] !== undefined || (member === secret?.member && given[String(secretOption)] === true);

  /** One that may be left out is asked for by its option alone. */
  async function secretOf(given: Typed, terminal: Terminal): Promise<Typed> {
    if (!secret || !secretOption) return {};
    const isFromStdin = given[secretOption] === true;
    if (!isFromStdin && isOptional(inBody[secret.member] ?? {})) return {};
    const words = secret.words;
    return { [nameOf(secret.member)]: await readTypedSecret(terminal, { isFromStdin, words, option: secretOption }) };
  }

  async function inputOf(deps: Deps, given: Typed) {
    const valueFor = (member: string, schema: Member) => {
      const typed = given[nameOf(member)];
      const isEmptied = typed === '' || (Array.isArray(typed) && typed.length === 0);
      if (isEmptied && schema.anyOf?.some(({ type }) => type === 'null')) return null;
      if (isNumber(schema) && typeof typed === 'string') return numberIn(nameOf(member), typed);
      return fixed[member] ?? typed ?? defaults[member] ?? schema.default;
    };
    const valuesOf = (wanted: Record<string, Member>) =>
      Object.fromEntries(Object.entries(wanted).map(([member, schema]) => [member, valueFor(member, schema)]));
    const { minProperties = 0 } = (one.body ?? {}) as { minProperties?: number };
    if (Object.keys(inBody).filter((member) => isTyped(member, given)).length < minProperties) {
      const names = Object.keys(inBody)
        .filter((member) => !(member in fixed))
        .map((member) => `--${member === secret?.member ? secretOption : nameOf(member)}`);
      throw new UsageError(`Nothing to change: give at least one of ${names.join(', ')}.`);
    }
    const resolved = inPath.map(async (name) => {
      const typed = String(given[name]);
      return [name, (await operands[name]?.resolve?.(deps, typed)) ?? typed];
    });
    const ids = Object.fromEntries(await Promise.all(resolved));
    return { caller: { actor: 'cli' }, ...ids, query: valuesOf(inQuery), body: valuesOf(inBody) };
  }

  const optionsOf = (of: Record<string, Member>): Record<string, Option> =>
    Object.fromEntries(
      Object.entries(of)
        .filter(([member]) => !operandNames.includes(member) && !(member in fixed) && member !== secret?.member)
        .map(([member, schema]) => {
          const mayBeLeftOut = optional.includes(member) || isOptional(schema) || 'default' in schema;
          const common = {
            required: mayBeLeftOut ? undefined : (true as const),
            default: defaults[member] ?? schema.default,
          };
          return [nameOf(member), { ...optionFor(nameOf(member), schema), ...common }];
        }),
    );

  return {
    summary: part.summary ?? `${one.summary}.`,
    onlyShows: mayGoWithout(one),
    confirm: part.confirm,
    operands: Object.fromEntries(
      operandNames.map((name) => [
        name,
        operands[name]?.oneOf ? operands[name] : { value: operands[name]?.value ?? name },
      ]),
    ),
    options: {
      ...optionsOf(members),
      ...(secret &&
        secretOption && { [secretOption]: { help: `read the ${secret.words.toLowerCase()} from standard input` } }),
    },
    async run(deps, given, terminal) {
      const input = await inputOf(deps, { ...given, ...(await secretOf(given, terminal)) });
      const result = await one.run(deps, input);
      return {
        json: part.json ? await part.json(result, input, deps) : result,
        text: isOfNoChange(result) ? nothingChanged : await part.text(result, input, deps),
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

const isNumber = ({ type, anyOf }: Member): boolean => type === 'number' || anyOf?.some(isNumber) === true;

function numberIn(option: string, text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new UsageError(`--${option} takes a number.`);
  return Number(text);
}

function optionFor(name: string, given: Member): Option {
  const list = given.anyOf?.find(({ type }) => type === 'array');
  if (list) return optionFor(name, { description: given.description, ...list });
  const orNull = given.anyOf?.find(({ type }) => type === 'integer' || type === 'number' || type === 'string');
  const schema: Member = orNull ? { ...given, ...orNull } : given;
  const { description = '', type, enum: choices, items, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const help = description.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase()).replace(/\.$/, '');
  if (type === 'boolean') return { help };
  if (type === 'array' && items) return { value: name, help, separator: separatorOf(items), oneOf: items.enum };
  if (type === 'integer') return { value: 'n', help, integer: [minimum, maximum] };
  if (choices) return { value: name, help, oneOf: choices };
  return { value: name === 'after' || name === 'before' ? 'cursor' : name, help };
}
