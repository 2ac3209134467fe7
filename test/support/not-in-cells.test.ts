import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesInCells, mayOpenStore, notInCells } from './not-in-cells.ts';

const root = join(import.meta.dirname, '../..');
const files = globSync(['{src,test}/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root });

test('a run in cells leaves out what is the same there: each such file is there, and names its engine or its servers', () => {
  const named = Object.values(notInCells).flat();
  assert.deepEqual(
    named.filter((file) => !files.includes(file)),
    [],
    'these are not there any more',
  );
  assert.equal(new Set(named).size, named.length);
  const taking = /\b(?:testSignet|onBothEngines|inEachStore|startFederatedSignet)\(|bareSettings\(t, /;
  const ownServers = /startEmptyPostgres|startPostgresPair|onTwoServers/;
  const faults = named.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const isOwn = notInCells['their servers are on SQLite, whatever the run says']!.includes(file)
      ? !text.includes("'postgres'")
      : ownServers.test(text);
    return taking.test(text) || !isOwn;
  });
  assert.deepEqual(faults, [], 'these would be tried in cells');
});

test('a file that cannot open a store is known by what it imports, directly or not', () => {
  for (const file of ['test/oauth/token.test.ts', 'test/relying-parties/express.test.ts', 'src/clients/outrun.test.ts'])
    assert.ok(mayOpenStore(file), file);
  for (const file of ['src/platform/csv.test.ts', 'test/operations/scale-model.test.ts'])
    assert.ok(!mayOpenStore(file), file);
  const { run, leftOut } = filesInCells(files);
  const counted = run.length + new Set(Object.values(leftOut).flat()).size;
  assert.equal(counted, files.length);
  assert.ok(run.length > 250, `${run.length}`);
});
