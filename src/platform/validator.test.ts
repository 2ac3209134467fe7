import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from './schema.ts';
import { compile } from './validator.ts';

const orNull = <Schema extends Parameters<typeof Type.Array>[0]>(schema: Schema) => Type.Union([schema, Type.Null()]);
const shape = compile(
  Type.Object(
    {
      ends_at: orNull(Type.Integer({ minimum: 0, maximum: 10 })),
      note: Type.Optional(orNull(Type.Object({ text: Type.String() }, { additionalProperties: false }))),
    },
    { additionalProperties: false },
  ),
);
const problemsOf = (body: unknown) => shape.problems(body).map(({ path, message }) => `${path}: ${message}`);

test('what may be null has one sentence for what is wrong with it', () => {
  assert.deepEqual(problemsOf({ ends_at: 11 }), ['ends_at: Must be <= 10.']);
  assert.deepEqual(problemsOf({ ends_at: 'x' }), ['ends_at: Must be integer or null.']);
  assert.deepEqual(problemsOf({ ends_at: null, note: { text: 1 } }), ['note/text: Must be string.']);
  assert.deepEqual(problemsOf({ ends_at: 1, note: 'x' }), ['note: Must be object or null.']);
});

test('a body that is wrong in many ways is refused in some of them, and never in none', () => {
  assert.deepEqual(problemsOf({}), ['ends_at: Is required.']);
  assert.deepEqual(problemsOf(null), [': Must be object.']);
  assert.ok(problemsOf({ ends_at: -1, note: { text: 1, more: 2 }, evil: 3 }).length > 1);
});
