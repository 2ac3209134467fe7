import { writeFileSync } from 'node:fs';
import { ImportedUser } from '../src/imports/format.ts';
import { published } from '../src/platform/http/operation.ts';
import { LineOfExport } from '../src/transfer/format.ts';

// npm run docs:import-schema

for (const [name, schema] of Object.entries({ users: ImportedUser, export: LineOfExport })) {
  const path = new URL(`../docs/import/${name}.schema.json`, import.meta.url);
  const whole = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...published(schema) };
  writeFileSync(path, `${JSON.stringify(whole, null, 2)}\n`);
}
