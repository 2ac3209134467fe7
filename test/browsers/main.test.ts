import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '../support/scratch.ts';
import { browserNames, browsers } from './browsers.ts';
import { cases } from './cases.ts';

const started = (args: readonly string[], path = '') =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const file = join(import.meta.dirname, 'main.ts');
    const env = { ...process.env, PATH: path };
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });

test('browsers: --help lists the cases, whose names are their own', async () => {
  const { code, stdout } = await started(['--help']);
  assert.equal(code, 0);
  for (const { name } of cases) assert.ok(stdout.includes(`  ${name}\n`), name);
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
});

test('browsers: a browser, case or option that is unknown is refused, and nothing runs', async () => {
  for (const [args, why] of [
    [['--browser', 'lynx'], /^There is no browser 'lynx'\. The browsers: firefox, webkit, chromium\.$/m],
    [['--only', 'no such case'], /^No case has 'no such case' in its name\.$/m],
    [['--olny', 'popup'], /--olny/],
  ] as const) {
    const { code, stdout, stderr } = await started(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, why);
  }
});

test('browsers: what is not installed is skipped, with the command that installs it', async () => {
  const { code, stdout, stderr } = await started([]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(
    stdout,
    `firefox   skipped: firefox-esr is not installed: apt-get install firefox-esr
webkit    skipped: WebKitWebDriver is not installed: apt-get install webkit2gtk-driver
chromium  skipped: chromedriver is not installed: apt-get install chromium-driver
`,
  );
  // Each program that a browser needs is asked for.
  for (const name of browserNames) {
    const folder = join(await scratchFolder('path'), 'bin');
    await mkdir(folder);
    for (const [program, debian] of browsers[name].needs) {
      const { stdout } = await started(['--browser', name], folder);
      assert.match(stdout, new RegExp(`skipped: ${program} is not installed: apt-get install ${debian}\n$`));
      await writeFile(join(folder, program), '');
      await chmod(join(folder, program), 0o755);
    }
  }
});
