/**
 * What `npm ci` does last in a clone: makes one file of the program, which starts twice as fast as the sources. `bin/start.cjs`
 * runs it as long as the sources and packages are the same.
 *
 *   npm run prepare
 *
 * Where that cannot be done (esbuild is missing after `npm ci --omit=dev`), the sources are run.
 */
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'node_modules/.cache/signet-program');
const program = join(folder, 'signet.cjs');
const stamps = join(folder, 'inputs.json');

/** Times of files may be kept in seconds. */
const clockMs = 1000;

/** @returns whether it was made. Not if a source has changed meanwhile, for it is not known which state of it was read. */
async function makeProgram(): Promise<boolean> {
  const { build } = await import('esbuild');
  const { asciiOf, oneFile } = await import('./build.ts');
  const startedAt = Date.now();
  const { metafile, outputFiles } = await build({
    ...oneFile,
    outfile: program,
    // It finds the sources from bin/start.cjs: the folder of the packages may be a link to that of another clone.
    banner: {
      js: `const sources = require('node:path').join(require.main.path, '../src/cli');
const resolveUrl = (name) => require('node:url').pathToFileURL(require.resolve(name)).href;`,
    },
    define: {
      'import.meta.dirname': 'sources',
      'import.meta.filename': '"main.ts"',
      'import.meta.resolve': 'resolveUrl',
    },
    minifyWhitespace: true, // its text stays in memory
    lineLimit: 120, // for the stacks of errors
  });
  const makers = ['package.json', 'tsconfig.json', 'src/tsconfig.json', 'scripts/build.ts', 'scripts/prepare.ts'];
  const inputs = [...makers, ...Object.keys(metafile.inputs)];
  const sources = inputs.filter((path) => !path.includes('node_modules/'));
  if (sources.some((path) => statSync(join(root, path)).mtimeMs > startedAt - clockMs)) return false;
  rmSync(stamps, { force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${program}.new`, asciiOf(outputFiles));
  renameSync(`${program}.new`, program);
  const read = new Set([...inputs, 'node_modules/.package-lock.json', relative(root, program)]);
  const stampOf = (path: string) => {
    const { size, mtimeMs } = statSync(join(root, path));
    return [path, size, mtimeMs];
  };
  writeFileSync(`${stamps}.new`, JSON.stringify(Array.from(read, stampOf)));
  renameSync(`${stamps}.new`, stamps);
  return true;
}

rmSync(folder, { recursive: true, force: true });
try {
  for (let attempt = 1; attempt <= 3 && !(await makeProgram()); attempt += 1) await sleep(clockMs);
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') console.error(error);
}
