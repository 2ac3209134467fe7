import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TSchema, Type } from '../schema.ts';
import { nullable } from './operation.ts';
import { keeper } from './schema-compilers.ts';

const Named = Type.Object({ name: Type.String(), note: Type.Optional(nullable(Type.String())) });
const named = { secret: 1, note: null, name: 'a' };
const kept = { note: null, name: 'a' };

const answers: [TSchema, sent: unknown, kept: unknown][] = [
  [Named, named, kept],
  [Type.Array(Named), [named, named], [kept, kept]],
  [
    Type.Object({ list: Type.Array(Named), one: nullable(Named), none: nullable(Named) }),
    { list: [named], one: named, none: null, other: 1 },
    { list: [kept], one: kept, none: null },
  ],
  [
    Type.Object({ free: nullable(Type.Record(Type.String(), Type.Unknown())) }),
    { free: { a: { b: 1 } }, other: 1 },
    { free: { a: { b: 1 } } },
  ],
  [Type.Object({}, { additionalProperties: true }), named, named],
  [Type.Object({ name: Type.String() }, { additionalProperties: false }), named, { name: 'a' }],
  [Type.Union([Type.String(), Type.Array(Named)]), [named], [kept]],
  [Type.Array(Type.String()), ['a'], ['a']],
];

test('an answer has the members that its schema names, in the order of the value', () => {
  for (const [schema, sent, kept] of answers) {
    assert.equal(JSON.stringify(keeper(schema)(sent)), JSON.stringify(kept));
  }
});

test('a route does not start whose schema leaves open which members an answer has', () => {
  assert.throws(() => keeper(Type.Union([Named, Type.Array(Named)])), TypeError);
});
