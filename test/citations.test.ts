import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const filesUnder = (folder: string, ending: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => ending.test(path))
    .map((path) => join(folder, path));

/** "2", "2.1", and "9.1" also for the first item of a numbered list in section 9. */
function sectionsOf(document: string): Set<string> {
  const sections = new Set<string>();
  let section = '';
  for (const line of read(document).split('\n')) {
    const heading = /^#{2,3} (\d+(?:\.\d+)?)\.? /.exec(line)?.[1];
    if (heading !== undefined) section = heading;
    const item = /^(\d+)\. /.exec(line)?.[1];
    for (const one of [heading, item && `${section}.${item}`]) if (one) sections.add(one);
  }
  return sections;
}

const specification = sectionsOf('docs/spec/service-specification.md');
const decisions = sectionsOf('docs/spec/decisions.md');
const requirements = new Set(
  [...read('docs/security-requirements.md').matchAll(/^\| ([A-Z]{2}-\d\d) /gm)].map(([, id = '']) => id),
);

/** What may stand between a document's name and a number, and between two numbers: "specification §4.8, §4.9". */
const numbers = String.raw`(?:§|section )?\d+(?:\.\d+)?(?:(?:,| and) (?:§|section )?\d+\.\d+)*`;
const ofSpecification = new RegExp(String.raw`\bspec(?:ification)?,? (${numbers})`, 'gi');
const ofDecisions = /\bdecisions,? (?:§|section )(\d+)/gi;
const families = [...new Set([...requirements].map((id) => id.slice(0, 2)))].join('|');
const ofRequirements = new RegExp(String.raw`\b(?:${families})-\d\d\b`, 'g');

/** Text in comments is wrapped: a citation may begin in one line and end in the next. */
const flat = (text: string) => text.replaceAll(/\n\s*(?:\*|\/\/)? */g, ' ');

type Citation = { cited: string; resolves: boolean };

function citationsIn(text: string): Citation[] {
  const prose = flat(text);
  const sections = [...prose.matchAll(ofSpecification)].flatMap(([, list = '']) => list.match(/\d+(?:\.\d+)?/g) ?? []);
  return [
    ...sections.map((number) => ({ cited: `specification ${number}`, resolves: specification.has(number) })),
    ...[...prose.matchAll(ofDecisions)].map(([, number = '']) => ({
      cited: `decisions §${number}`,
      resolves: decisions.has(number),
    })),
    ...[...prose.matchAll(ofRequirements)].map(([id]) => ({ cited: id, resolves: requirements.has(id) })),
  ];
}

test('the citations that this test reads are those that people write', () => {
  const text =
    '// Specification §2.9,\n  // 2.10 and 9.1; spec 12.3; decisions §7; Decisions, section 99; RT-02, RT-99; RFC 9700 §4.14';
  assert.deepEqual(
    citationsIn(text).map(({ cited, resolves }) => `${cited} ${resolves}`),
    [
      ...['specification 2.9 true', 'specification 2.10 true', 'specification 9.1 true', 'specification 12.3 false'],
      ...['decisions §7 true', 'decisions §99 false', 'RT-02 true', 'RT-99 false'],
    ],
  );
});

test('whatever code, tests and documents cite stands in docs/', () => {
  const files = [
    ...['src', 'test', 'bench', 'examples', 'packages'].flatMap((folder) => filesUnder(folder, /\.(ts|sql)$/)),
    ...filesUnder('docs', /\.md$/),
    'README.md',
  ].filter((path) => !path.endsWith('citations.test.ts'));
  const citations = files.flatMap((path) => citationsIn(read(path)).map((citation) => ({ path, ...citation })));
  const unresolved = citations.filter(({ resolves }) => !resolves).map(({ path, cited }) => `${path}: ${cited}`);
  assert.deepEqual(unresolved, []);
  assert.ok(citations.length > 300, 'it looks where the citations are');
});

/** Files and folders, from the root: `src`, `src/app`, `src/app/jobs.ts`. */
const paths = ['src', 'test', 'docs', 'bench', 'examples', 'packages', 'scripts']
  .flatMap((folder) => [folder, ...filesUnder(folder, /./)])
  .concat(readdirSync(root))
  .map((path) => path.replaceAll('\\', '/'));
const code = ['src', 'test']
  .flatMap((folder) => filesUnder(folder, /\.ts$/))
  .filter((path) => !path.endsWith('citations.test.ts'))
  .map(read)
  .join('\n');

const isPath = (name: string) =>
  /^[\w.*<>-]+(\/[\w.*<>-]+)*\/?$/.test(name) && (name.includes('/') || /\.(ts|md|json|sql)$/.test(name));
const isIdentifier = (name: string) => /^[a-z]+[A-Z]\w*$/.test(name);

/** @returns what a document names in backticks and this repository does not have. */
function missingIn(document: string, text: string): string[] {
  const names = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
  const isThere = (name: string) => {
    const path = name.replace(/\/$/, '').replaceAll(/<[^>]*>/g, '*');
    const folder = document.startsWith('docs/') ? 'src' : dirname(document);
    const near = [
      path,
      join('src', path),
      join(folder, path),
      ...(path.includes('/') ? [] : [join(folder, '**', path)]),
    ];
    return paths.some((one) => near.some((pattern) => matchesGlob(one, pattern)));
  };
  return [
    ...names.filter((name) => isPath(name) && !isThere(name)),
    ...names.filter((name) => isIdentifier(name) && !new RegExp(`\\b${name}\\b`).test(code)),
  ];
}

test('a document that names what is not there is found out', () => {
  const text =
    '`app/jobs.ts`, `src/app/job.ts`, `admin/<area>/page.ts`, `*.store.ts`, `open-deps.ts`, `runJobs`, `runAllJobs`, `/v1/me`';
  assert.deepEqual(missingIn('src/app/README.md', text), ['src/app/job.ts', '*.store.ts', 'runAllJobs']);
});

test('every file and function that the documents of the code name is there', () => {
  const documents = ['docs/architecture.md', ...filesUnder('src', /README\.md$/), 'test/support/README.md'];
  const missing = documents.flatMap((path) => missingIn(path, read(path)).map((name) => `${path}: ${name}`));
  assert.deepEqual(missing, []);
});
