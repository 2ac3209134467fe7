import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curlFor } from './curl.ts';
import type { DescribedOperation } from './document.ts';
import { describeType, membersOf } from './reference.ts';

test('a type is described in words', () => {
  assert.equal(describeType({ type: 'string', minLength: 1, maxLength: 100 }), 'string, 1 to 100 characters');
  assert.equal(describeType({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), 'integer, at least 1');
  assert.equal(describeType({ type: 'integer', maximum: 500, default: 50 }), 'integer, at most 500, default 50');
  assert.equal(describeType({ anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] }), 'integer or null');
  assert.equal(describeType({ enum: ['a', 'b'] }), '"a" | "b"');
  assert.equal(describeType({ type: 'array', items: { const: 'x' }, maxItems: 3 }), 'array of "x", at most 3 items');
  assert.equal(describeType({}), 'anything');
});

test('members are listed with the way to them, through lists and what may be null', () => {
  const inner = { type: 'object', required: ['path'], properties: { path: { type: 'string' } } };
  const schema = {
    type: 'object',
    required: ['fields'],
    properties: { fields: { type: 'array', items: inner }, owner: { anyOf: [inner, { type: 'null' }] } },
  };
  assert.deepEqual(
    membersOf(schema).map(({ name, isRequired }) => [name, isRequired]),
    [
      ['fields', true],
      ['fields[].path', true],
      ['owner', false],
      ['owner.path', true],
    ],
  );
});

test('a command survives the shell: a quote in an example is a quote in the body', () => {
  const operation = {
    security: [{ SessionCookie: [] }],
    parameters: [{ name: 'client_id', in: 'path', required: true }],
    requestBody: { content: { 'application/json': { schema: {}, example: { name: "Ada's" } } } },
  } as unknown as DescribedOperation;
  const base = { url: 'https://id.example', sessionCookie: 'signet_identity_session' };
  assert.equal(
    curlFor('post', '/v1/clients/{client_id}', operation, base),
    `curl -X POST 'https://id.example/v1/clients/CLIENT_ID' \\
  -b 'signet_identity_session=SESSION' \\
  -H 'origin: https://id.example' \\
  -H 'content-type: application/json' \\
  -d '{"name":"Ada'\\''s"}'`,
  );
});
