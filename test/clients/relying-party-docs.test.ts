import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, otherPages, pages } from '../../scripts/relying-party-docs.ts';

test('docs/relying-parties is what the catalogue makes of it', () => {
  const made = pages();
  assert.deepEqual(readdirSync(folder).sort(), [...made.keys(), ...otherPages].sort(), 'npm run docs:relying-parties');
  for (const [name, text] of made) {
    assert.equal(readFileSync(join(folder, name), 'utf8'), text, `${name} is stale: npm run docs:relying-parties`);
    assert.doesNotMatch(text, /undefined|\[object/, name);
  }
});
