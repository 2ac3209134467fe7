import assert from 'node:assert/strict';
import { test } from 'node:test';
import TypeBox from 'typebox';
import { isOptional, Type } from './schema.ts';

/** Each builder, with options, made by ours or by TypeBox. */
function everything(make: typeof Type) {
  const about = { description: 'what it is' };
  const Inner = make.Object(
    { one: make.Literal('one', about), three: make.Literal(3) },
    { additionalProperties: false },
  );
  return make.Object(
    {
      text: make.String({ minLength: 1, ...about }),
      whole: make.Integer({ minimum: 0, ...about }),
      yes: make.Boolean(about),
      choice: make.Enum(['a', 'b'], about),
      list: make.Array(make.String(), { maxItems: 3, ...about }),
      nothing: make.Null(about),
      maybe: make.Optional(make.Union([Inner, make.Null()], about)),
      partial: make.Partial(Inner, about),
      any: make.Unknown(about),
      free: make.Record(make.String(), make.Unknown()),
      cast: make.Unsafe<readonly string[]>(make.Array(make.String())),
      empty: make.Object({}),
    },
    { minProperties: 1, ...about },
  );
}

test('the builders make what those of TypeBox make, whose types they have', () => {
  // TypeBox has no rule for a member whose name has a line break.
  const theirs = JSON.stringify(everything(TypeBox)).replace('"^.*$"', '"^"');
  assert.equal(JSON.stringify(everything(Type)), theirs);
});

test('a member is optional where it was declared so, and its schema elsewhere is not', () => {
  const text = Type.String();
  const { properties } = Type.Object({ one: Type.Optional(text), other: text });
  assert.deepEqual([isOptional(properties.one), isOptional(properties.other)], [true, false]);
});
