import type { JsonSchema } from './json-schema.ts';
import { members } from './member-descriptions.ts';

/** Examples of texts by the pattern or format that they have to match. */
const byFormat: Readonly<Record<string, string>> = {
  uri: 'https://shop.example.com/callback',
  'uri-reference': '/account',
  email: 'ada@example.com',
};

/**
 * A value that the schema describes, with all of its members.
 * @param name of the member that it is the value of.
 */
export function exampleOf(schema: JsonSchema, name = ''): unknown {
  const { example, anyOf, enum: choices, items, properties, type } = schema;
  if (example !== undefined) return example;
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (choices) return choices[0];
  if (anyOf) return exampleOf(anyOf.find((one) => one.type !== 'null') ?? anyOf[0]!, name);
  if (items) return [exampleOf(items, name)];
  if (properties) {
    return Object.fromEntries(Object.entries(properties).map(([member, one]) => [member, exampleOf(one, member)]));
  }
  if (type === 'integer' || type === 'number') {
    const isTime = schema.description?.startsWith('Unix seconds') || /_at$/.test(name);
    return isTime ? 1_830_000_000 : Math.min(Math.max(schema.minimum ?? 0, 1), schema.maximum ?? 1);
  }
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'string') return members[name]?.example ?? byFormat[schema.format ?? ''] ?? textFor(name);
  return {};
}

function textFor(name: string): string {
  if (/(?:^|_)(?:uri|url|endpoint|issuer|iss)s?$/.test(name)) return byFormat.uri!;
  return name === '' ? 'text' : name.replaceAll('_', ' ');
}
