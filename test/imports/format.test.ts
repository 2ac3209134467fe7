import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ImportedUser } from '../../src/imports/format.ts';
import { published } from '../../src/platform/http/operation.ts';

const path = new URL('../../docs/import/users.schema.json', import.meta.url);

test('the published schema of a user is that of the program', () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...published(ImportedUser) };
  assert.deepEqual(
    JSON.parse(readFileSync(path, 'utf8')),
    JSON.parse(JSON.stringify(schema)),
    'npm run docs:import-schema writes it',
  );
});
