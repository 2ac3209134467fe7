import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import { invalidFields } from '../errors.ts';
import type { TProperties, TSchema } from '../schema.ts';
import { compile } from '../validator.ts';
import { type FormText, readQueryAs } from './parameters.ts';

/** TypeBox checks requests and cleans answers by the schemas of the routes. They are compiled when first used. */
const compileValidator: FastifySchemaCompiler<TSchema | TProperties> = ({ schema, httpPart }) => {
  if (httpPart === 'querystring') return (query: FormText) => attempt(() => readQueryAs(schema as TProperties, query));
  const shape = compile(schema as TSchema);
  return (value: unknown) => (shape.check(value) ? { value } : { error: invalidFields(shape.problems(value)) });
};

const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema }) => {
  const keep = keeper(schema);
  return (value: unknown) => JSON.stringify(keep(value));
};

/**
 * An option of the server: beside compilers that are set later, Fastify loads its own two, 110 files that nothing would use.
 * The type of the option knows those alone.
 */
export const schemaController: object = {
  compilersFactory: { buildValidator: () => compileValidator, buildSerializer: () => compileSerializer },
};

type Keeper = (value: unknown) => unknown;
const keepAll: Keeper = (value) => value;

type Members = {
  items?: TSchema;
  properties?: TProperties;
  additionalProperties?: unknown;
  anyOf?: readonly TSchema[];
};

/** @returns a function that leaves of an answer the members that its schema names. It checks nothing. */
export function keeper(schema: TSchema): Keeper {
  const { items, properties, additionalProperties = false, anyOf } = schema as Members;
  if (items) {
    const keep = keeper(items);
    return keep === keepAll ? keepAll : (value) => (Array.isArray(value) ? value.map((one) => keep(one)) : value);
  }
  if (anyOf) {
    const [keep = keepAll, another] = anyOf.map(keeper).filter((one) => one !== keepAll);
    if (another) throw new TypeError('A schema does not tell which of several objects an answer is.');
    return keep;
  }
  if (!properties || additionalProperties) return keepAll;
  const keepers = new Map(Object.entries(properties).map(([name, one]) => [name, keeper(one)]));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const kept: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value)) {
      const keep = keepers.get(name);
      if (keep) kept[name] = keep(member);
    }
    return kept;
  };
}

function attempt<Value>(read: () => Value): { value: Value } | { error: Error } {
  try {
    return { value: read() };
  } catch (error) {
    return { error: error as Error };
  }
}
