import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

test('every test that docs/standards.md and docs/reliability.md name exists', () => {
  const documents = ['docs/standards.md', 'docs/reliability.md'].map((path) => readFileSync(join(root, path), 'utf8'));
  const lines = documents.flatMap((document) => document.split('\n'));
  const rows = lines.filter((line) => /^\| (?!-|section|standard|plan|promise)/.test(line));
  assert.ok(rows.length > 56);
  const missing: string[] = [];
  for (const row of rows) {
    const [, file] = /`((?:test|src|packages)\/[^`]+\.test\.ts)`/.exec(row) ?? [];
    if (file === undefined) missing.push(`no test: ${row}`);
    for (const [, path = '', names = ''] of row.matchAll(/`((?:test|src|packages)\/[^`]+\.test\.ts)`([^`]*)/g)) {
      const text = readFileSync(join(root, path), 'utf8');
      for (const [, name = ''] of names.matchAll(/"([^"]+)"/g)) {
        const isThere = [`'${name}'`, `"${name}"`, `\`${name}\``].some((quoted) => text.includes(quoted));
        if (!isThere) missing.push(`${path}: ${name}`);
      }
    }
  }
  assert.deepEqual(missing, []);
});
