import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { libraryIds } from '../../src/clients/libraries/catalogue.ts';
import { caseNames, clients, resourceServers } from './cases.ts';

const started = (...args: string[]) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const file = join(import.meta.dirname, 'main.ts');
    execFile(process.execPath, [file, ...args], (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });

test('the relying parties in other languages: --help lists the cases', async () => {
  const { code, stdout } = await started('--help');
  assert.equal(code, 0);
  for (const name of caseNames) assert.ok(stdout.includes(name), name);
});

test('the relying parties in other languages: a name or option that is unknown is refused, and nothing runs', async () => {
  const unknown = await started('--only', 'none');
  assert.deepEqual([unknown.code, unknown.stdout], [2, '']);
  assert.match(unknown.stderr, /^There is no case 'none'\. The cases: authlib, .*spring, .*scim2-tester\.$/m);
  const misspelt = await started('--olny', 'authlib');
  assert.deepEqual([misspelt.code, misspelt.stdout], [2, '']);
  assert.match(misspelt.stderr, /--olny/);
});

test('each case has what it runs: a library of the catalogue and its folder, or a page', () => {
  for (const name of clients) {
    assert.ok(libraryIds.includes(name), name);
    assert.ok(existsSync(join(import.meta.dirname, name)), name);
  }
  const pages = readdirSync(join(import.meta.dirname, '../../docs/resource-servers'));
  const others = ['README.md', 'mcp.md']; // the latter is of one program, which is tried by hand
  const recipes = pages.filter((page) => !others.includes(page)).map((page) => page.replace(/\.md$/, ''));
  assert.deepEqual([...resourceServers].sort(), recipes.sort());
});
