import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { scratchFolder } from '../../../test/support/scratch.ts';

export const run = promisify(execFile);
export const packageFolder = join(import.meta.dirname, '..');
export const root = join(packageFolder, '../..');

/** npm without a network and without a home: what it needs must be here. */
const npm = (cwd: string, args: string[]) =>
  run('npm', [...args, '--offline', '--no-audit', '--no-fund', '--no-update-notifier'], {
    cwd,
    env: { ...process.env, npm_config_cache: join(cwd, '.npm'), NODE_OPTIONS: '' },
  });

/** Packs the package, and installs the file into a new project. @returns the folder of the project. */
export async function installedPackage(t: TestContext): Promise<{ project: string; files: string[] }> {
  const scratch = await scratchFolder('package');
  t.after(() => rm(scratch, { recursive: true, force: true }));
  const source = join(scratch, 'source');
  await mkdir(source);
  for (const name of ['src', 'package.json', 'tsconfig.json', 'README.md', 'CHANGELOG.md', 'LICENSE']) {
    await cp(join(packageFolder, name), join(source, name), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(scratch, 'node_modules')); // the compiler and the frameworks' types
  const { stdout } = await npm(source, ['pack', '--json']);
  const described = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)));
  const [packed] = Object.values(described) as { filename: string; files: { path: string }[] }[];
  assert.ok(packed, stdout);
  await npm(source, ['pack', join(root, 'node_modules/jose'), '--ignore-scripts']);

  const project = join(scratch, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const jose = `jose-${JSON.parse(await readFile(join(root, 'node_modules/jose/package.json'), 'utf8')).version}.tgz`;
  await npm(project, ['install', join(source, packed.filename), join(source, jose)]);
  return { project, files: packed.files.map(({ path }) => path).sort() };
}
