// Runs the program of a clone: the one file that `npm ci` made of its sources (scripts/prepare.ts) if they are still the same,
// else the sources.
const { readFileSync, statSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..');
const made = join(root, 'node_modules/.cache/signet-program');

/** What was edited, pulled or installed since has another size or time. */
function isCurrent() {
  try {
    const inputs = JSON.parse(readFileSync(join(made, 'inputs.json'), 'utf8'));
    return inputs.every(([path, size, time]) => {
      const stats = statSync(`${root}/${path}`); // joining so many would make V8 load its optimizing compilers
      return stats.size === size && stats.mtimeMs === time;
    });
  } catch {
    return false;
  }
}

if (isCurrent()) require(join(made, 'signet.cjs'));
else void import('../src/cli/main.ts');
