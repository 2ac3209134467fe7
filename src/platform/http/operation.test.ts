import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import Value from 'typebox/value';
import { keeper, nullable } from './operation.ts';

const Named = Type.Object({ name: Type.String(), note: Type.Optional(nullable(Type.String())) });
const named = { name: 'a', note: null, secret: 1 };

const answers: [TSchema, unknown][] = [
  [Named, named],
  [
    Type.Object({ list: Type.Array(Named), one: nullable(Named), none: nullable(Named) }),
    { list: [named], one: named, none: null, other: 1 },
  ],
  [Type.Object({ free: nullable(Type.Record(Type.String(), Type.Unknown())) }), { free: { a: { b: 1 } }, other: 1 }],
  [Type.Object({ name: Type.String() }, { additionalProperties: true }), named],
  [Type.Object({ name: Type.String() }, { additionalProperties: false }), named],
  [Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Array(Named) })]), { b: [named], c: 1 }],
  [Type.Array(Type.String()), ['a']],
];

test('an answer has the members that its schema names, in the order of the value', () => {
  for (const [schema, value] of answers) {
    assert.equal(JSON.stringify(keeper(schema)(value)), JSON.stringify(Value.Clean(schema, Value.Clone(value))));
  }
});
