import { inCode, nullable } from '../platform/http/operation.ts';
import { type Static, Type } from '../platform/schema.ts';
import { longestValue, maxAttributes, maxStrings } from './attribute.ts';

// The code checks the bounds: of what fits none of four types, a schema says four things.
const Text = Type.String(inCode({ maxLength: longestValue }));
const Value = Type.Union([Type.Array(Text, inCode({ maxItems: maxStrings })), Type.Boolean(), Type.Number(), Text]);

/** By name. */
export const AttributeValues = Type.Record(Type.String(), Value, {
  description: 'Values of the attributes that are defined here, by their names. Those without a value are left out.',
});

/** Of a change: what is left out stays as it is. */
export const AttributeEdits = Type.Record(Type.String(), nullable(Value), {
  maxProperties: maxAttributes,
  description:
    'Attributes that are defined here, by their names, each of the type of its definition; null: no value. What is left out stays as it is.',
});
export type AttributeEdits = Static<typeof AttributeEdits>;
