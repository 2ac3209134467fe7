import type TypeBox from 'typebox';
import type { TObject, TProperties, TSchema } from 'typebox';

export type { Static, TObject, TObjectOptions, TProperties, TSchema, TUndefined, TUnknown } from 'typebox';

/**
 * JSON Schemas (2020-12) with the static types of TypeBox. Its own builders make the same objects, but bring 370 files into
 * every process, and its validators another 310; that was a fourth of each start.
 */
const builders = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: (options?: object) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly string[], options?: object) => ({ enum: values, ...options }),
  Integer: (options?: object) => ({ type: 'integer', ...options }),
  Literal: (value: string | number | boolean, options?: object) => ({ type: typeof value, const: value, ...options }),
  Number: (options?: object) => ({ type: 'number', ...options }),
  Null: (options?: object) => ({ type: 'null', ...options }),
  Object: objectOf,
  /** The schema of a member that an object may lack. */
  Optional: (schema: TSchema) => markOptional({ ...schema }),
  /** All members optional. The options of the given object are not taken over. */
  Partial: ({ properties }: TObject, options?: object) =>
    objectOf(
      Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, markOptional({ ...one })])),
      options,
    ),
  /** An object whose members all have one schema, whatever their names: `.` would leave out those with a line break. */
  Record: (_text: TSchema, value: TSchema, options?: object) => ({
    type: 'object',
    patternProperties: { '^': value },
    ...options,
  }),
  String: (options?: object) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly TSchema[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  /** A type that the schema does not follow from. */
  Unsafe: (schema: TSchema) => schema,
};

function objectOf(properties: TProperties, options?: object) {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name]!));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;

const optional = new WeakSet<TSchema>();

function markOptional<Schema extends TSchema>(schema: Schema): Schema {
  optional.add(schema);
  return schema;
}

export const isOptional = (schema: TSchema): boolean => optional.has(schema);
