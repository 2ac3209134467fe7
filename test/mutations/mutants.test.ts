import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { scratchFolder } from '../support/scratch.ts';
import { until } from '../support/until.ts';
import { mutants } from './mutants.ts';
import { type Mutant, occurrences, runMutants, type Verdict } from './run-mutants.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Names as they stand in a file, up to what is put into them. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/^ *(?:test|testSignet|onBothEngines)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gm)].map(
    ([, , name = '']) => name.split('${')[0]!,
  );
const isNamed = (beginning: string, names: readonly string[]): boolean => {
  const name = beginning.replace(/ \((?:sqlite|postgres)\)$/, '');
  return names.some((one) => one.startsWith(name) || (one.endsWith(' ') && name.startsWith(one)));
};

test('each mutant is of a text that stands in its file once, and of tests that are there', () => {
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
  const faults = mutants.flatMap(({ name, file, text, instead, tests }) => [
    ...(occurrences(read(file), text) === 1 ? [] : [`${name}: its text is not in ${file} once`]),
    ...(text === instead || tests.length === 0 ? [`${name}: breaks nothing`] : []),
    ...tests.flatMap((one) => {
      const names = existsSync(join(root, one.file)) ? namesIn(read(one.file)) : [];
      return (one.names ?? [''])
        .filter((wanted) => !isNamed(wanted, names))
        .map((wanted) => `${name}: no test ${wanted}`);
    }),
  ]);
  assert.deepEqual(faults, []);
});

test('each promise of docs/reliability.md is broken by a mutant, and each mutant breaks a promise or a requirement', () => {
  const rows = [...read('docs/reliability.md').matchAll(/^\| (?!-|promise)(.*)$/gm)].map(([, row = '']) => row);
  assert.ok(rows.length > 25);
  const unbroken = rows.filter((row) => !mutants.some(({ breaks }) => row.startsWith(breaks)));
  assert.deepEqual(unbroken, []);
  const requirements = read('docs/security-requirements.md');
  const isRequired = (breaks: string) =>
    rows.some((row) => row.startsWith(breaks)) ||
    (/^[A-Z]{2}-\d{2}$/.test(breaks) && requirements.includes(`| ${breaks} |`)) ||
    /^(?:decision \d+|RFC \d+ §[\d.]+)$/.test(breaks);
  assert.deepEqual(
    mutants.filter(({ breaks }) => !isRequired(breaks)).map(({ name }) => name),
    [],
  );
});

test('a mutant is killed, hangs, survives, or is none; the tree stays as it is', async (t) => {
  const folder = await scratchFolder('mutated');
  afterTest(t, () => rm(folder, { recursive: true }));
  const files: Record<string, string> = {
    'src/sum.js': 'export const sum = (a, b) => a + b;\nexport const twice = (a) => a * 2;\n',
    'test/sum.test.js': `import assert from 'node:assert';
import { test } from 'node:test';
import { sum } from '../src/sum.js';
test('two and three are five', () => assert.equal(sum(2, 3), 5));
test('nothing is nothing', () => assert.equal(sum(0, 0), 0));`,
    'test/broken.test.js': `import { test } from 'node:test';
test('fails', () => { throw new Error(); });`,
  };
  await mkdir(join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const mutant = (
    name: string,
    text: string,
    instead: string,
    names?: string[],
    file = 'test/sum.test.js',
  ): Mutant => ({
    name,
    breaks: 'arithmetic',
    file: 'src/sum.js',
    text,
    instead,
    tests: [{ file, names }],
  });
  const tried = [
    mutant('minus', 'a + b', 'a - b'),
    mutant('minus of nothing', 'a + b', 'a - b', ['nothing is']),
    mutant('thrice', 'a * 2', 'a * 3'),
    mutant('for ever', 'a + b', '(() => { while (a === 2); return a + b; })()'),
    mutant('gone', 'a / b', 'a'),
    mutant('twice there', 'export const', 'const'),
    mutant('no test', 'a + b', 'a', ['there is none']),
    mutant('a test that fails anyway', 'a + b', 'a', undefined, 'test/broken.test.js'),
  ];
  let told: string[] = [];
  let verdicts: Verdict[] = [];
  let patienceMs = 2_000;
  const count = (is: Verdict['is']) => verdicts.filter((verdict) => verdict.is === is).length;
  await until('the machine is so quick that only what hangs is silent', async () => {
    told = [];
    patienceMs *= 2;
    const onVerdict = ({ mutant }: Verdict) => told.push(mutant.name);
    verdicts = await runMutants(tried, { root: folder, patienceMs, jobs: 2, onVerdict });
    return count('hung') === 1 && count('unfounded') === 2;
  });
  assert.deepEqual(Object.fromEntries(verdicts.map(({ mutant, is }) => [mutant.name, is])), {
    minus: 'killed',
    'minus of nothing': 'survived',
    thrice: 'survived',
    'for ever': 'hung',
    gone: 'gone',
    'twice there': 'gone',
    'no test': 'unfounded',
    'a test that fails anyway': 'unfounded',
  });
  assert.equal(told.length, tried.length);
  assert.match(verdicts.find(({ mutant }) => mutant.name === 'minus')!.by, /two and three are five$/);
  for (const [path, text] of Object.entries(files)) assert.equal(readFileSync(join(folder, path), 'utf8'), text);
});
