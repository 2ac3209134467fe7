import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runCommand } from '../support/command-line.ts';

test('the published schema of configuration files is that of the program', async () => {
  const path = new URL('../../docs/config.schema.json', import.meta.url);
  const { code, stdout } = await runCommand(['config', 'schema']);
  assert.equal(code, 0);
  assert.deepEqual(
    JSON.parse(readFileSync(path, 'utf8')),
    JSON.parse(stdout),
    'signet config schema > docs/config.schema.json writes it',
  );
});
