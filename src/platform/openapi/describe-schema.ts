/** A JSON Schema as far as we write them. */
export type JsonSchema = {
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  items?: JsonSchema;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  description?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  $ref?: string;
};

/** A member of a body, with the way to it: `fields[].path`. */
type Member = { name: string; type: string; isRequired: boolean; description: string | undefined };

const deepest = 3;

/** Every member that the description promises, the outer before the inner. */
export function membersOf(schema: JsonSchema, prefix = '', depth = 0): Member[] {
  const { properties = {}, required = [] } = objectIn(schema) ?? {};
  return Object.entries(properties).flatMap(([key, member]) => {
    const name = prefix + key;
    const described = {
      name,
      type: describeType(member),
      isRequired: required.includes(key),
      description: describeBranches(member),
    };
    if (depth >= deepest) return [described];
    const isList = listIn(member) !== undefined;
    return [described, ...membersOf(listIn(member) ?? member, `${name}${isList ? '[]' : ''}.`, depth + 1)];
  });
}

const branches = (schema: JsonSchema) => schema.anyOf ?? [schema];
const objectIn = (schema: JsonSchema) => branches(schema).find(({ properties }) => properties !== undefined);
const listIn = (schema: JsonSchema) => branches(schema).find(({ items }) => items !== undefined)?.items;
const describeBranches = (schema: JsonSchema) =>
  schema.description ?? branches(schema).find(({ description }) => description)?.description;

/** In a few English words, as the rest of the description. */
export function describeType(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
  if (schema.anyOf) return [...new Set(schema.anyOf.map(describeType))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.items) return `array of ${describeType(schema.items)}${range(schema.minItems, schema.maxItems, 'item')}`;
  if (schema.type === 'string') return `string${range(schema.minLength, schema.maxLength, 'character')}`;
  if (schema.type === 'integer' || schema.type === 'number') {
    return `${schema.type}${range(schema.minimum, schema.maximum, '')}`;
  }
  return schema.type ?? 'anything';
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const end = most === Number.MAX_SAFE_INTEGER ? undefined : most;
  const words =
    end === undefined
      ? least === undefined || least === 0
        ? undefined
        : `at least ${least}`
      : least === undefined || least === 0
        ? `at most ${end}`
        : `${least} to ${end}`;
  if (words === undefined || unit === '') return words === undefined ? '' : `, ${words}`;
  return `, ${words} ${unit}${(end ?? least) === 1 ? '' : 's'}`;
}
