import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ImportedUser } from '../../src/imports/format.ts';
import { published } from '../../src/platform/http/operation.ts';
import { LineOfExport } from '../../src/transfer/format.ts';

const schemas = { users: ImportedUser, export: LineOfExport };

for (const [name, schema] of Object.entries(schemas)) {
  test(`the published schema of ${name} is that of the program`, () => {
    const path = new URL(`../../docs/import/${name}.schema.json`, import.meta.url);
    const whole = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...published(schema) };
    assert.deepEqual(
      JSON.parse(readFileSync(path, 'utf8')),
      JSON.parse(JSON.stringify(whole)),
      'npm run docs:import-schema writes it',
    );
  });
}
