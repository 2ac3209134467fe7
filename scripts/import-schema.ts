import { writeFileSync } from 'node:fs';
import { ImportedUser } from '../src/imports/format.ts';
import { published } from '../src/platform/http/operation.ts';

// npm run docs:import-schema

const path = new URL('../docs/import/users.schema.json', import.meta.url);
const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...published(ImportedUser) };
writeFileSync(path, `${JSON.stringify(schema, null, 2)}\n`);
