import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { countTouches } from '../scripts/count-touches.ts';
import { locales } from '../src/platform/i18n/translate.ts';

const root = join(import.meta.dirname, '..');

/** The rooms under `src`, lowest first. A room imports only from itself and from rooms before it. */
const rooms = [
  'platform',
  'audit',
  'settings',
  'brand',
  'statistics',
  'deliveries',
  'webhooks',
  'accounts',
  'groups',
  'attributes',
  'authentication',
  'apis',
  'entitlements',
  'clients',
  'oauth',
  'signals',
  'self-service',
  'developer',
  'imports',
  'declared',
  'admin',
  'scim',
  'transfer',
  'app',
  'cli',
];

type Import = { from: string; to: string };

/** Every import of one source file by another, paths relative to `src`, tests left out. */
const imports: Import[] = globSync('src/**/*.ts', { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.endsWith('.test.ts'))
  .sort()
  .flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+\.ts)['"]/g)].map(
      ([, to = '']) => ({ from: path.slice(4), to: join(dirname(path), to).slice(4) }),
    ),
  );

const roomOf = (path: string) => path.split('/')[0] ?? '';
const say = ({ from, to }: Import) => `${from} -> ${to}`;

type Graph = Map<string, Set<string>>;

function add(graph: Graph, from: string, to: string): void {
  graph.set(from, (graph.get(from) ?? new Set()).add(to));
}

/** The nodes of a graph from which a path leads back to them. */
function inCycles(graph: Graph): string[] {
  const leadsTo = (start: string): Set<string> => {
    const seen = new Set<string>();
    const open = [...(graph.get(start) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    return seen;
  };
  return [...graph.keys()].filter((node) => leadsTo(node).has(node)).sort();
}

/** For each folder, those of its folders that import each other, directly or through others. */
function folderCycles(all: readonly Import[]): string[] {
  const graphs = new Map<string, Graph>();
  for (const { from, to } of all) {
    const [a, b] = [from.split('/').slice(0, -1), to.split('/').slice(0, -1)];
    let shared = 0;
    while (a[shared] !== undefined && a[shared] === b[shared]) shared++;
    const [one, other] = [a[shared], b[shared]];
    if (one === undefined || other === undefined) continue;
    const folder = ['src', ...a.slice(0, shared)].join('/');
    const graph = graphs.get(folder) ?? new Map();
    graphs.set(folder, graph);
    add(graph, one, other);
  }
  return [...graphs].flatMap(([folder, graph]) => {
    const folders = inCycles(graph);
    return folders.length === 0 ? [] : [`${folder}: ${folders.join(', ')}`];
  });
}

test('a room imports only rooms before it', (t) => {
  assert.deepEqual([...new Set(imports.map(({ from }) => roomOf(from)))].sort(), [...rooms].sort());
  const back = imports.filter(({ from, to }) => rooms.indexOf(roomOf(to)) > rooms.indexOf(roomOf(from)));
  t.diagnostic(`rooms: ${rooms.join(' <- ')}`);
  t.diagnostic(`imports between rooms: ${imports.filter(({ from, to }) => roomOf(from) !== roomOf(to)).length}`);
  t.diagnostic(`back arrows: ${back.length}`);
  assert.deepEqual(back.map(say), [], 'Move what is needed down, or let src/app hand it down.');
});

test('no folder is part of an import cycle, at any depth, and no file', () => {
  const planted = [
    { from: 'a/b/one.ts', to: 'a/c/two.ts' },
    { from: 'a/c/d/three.ts', to: 'a/b/four.ts' },
    { from: 'a/c/two.ts', to: 'a/c/d/three.ts' },
  ];
  assert.deepEqual(folderCycles(planted), ['src/a: b, c']);
  assert.deepEqual(folderCycles(imports), []);
  const files: Graph = new Map();
  for (const { from, to } of imports) add(files, from, to);
  assert.deepEqual(inCycles(files), []);
});

test('no room imports the store of another', () => {
  const foreign = imports.filter(({ from, to }) => roomOf(from) !== roomOf(to) && /(^|[/.])store\.ts$/.test(to));
  assert.deepEqual(
    foreign.map(say),
    [],
    'Import from a use-case or from statements.ts of the room that owns the table; src/app, too.',
  );
  const offered = globSync('src/**/*.ts', { cwd: root }).filter(
    (path) =>
      roomOf(path.slice(4)) !== 'platform' &&
      !path.endsWith('/statements.ts') &&
      /^export [^;]*? from '[^']*store\.ts';/m.test(readFileSync(join(root, path), 'utf8')),
  );
  assert.deepEqual(offered, [], "What other rooms may have of a room's stores is in its statements.ts.");
});

/** Code and texts, without the migration: files that name one, and what for. */
const mostFilesOf: Record<string, number> = {
  // Its entry, its description, the page that links to it, and one text in each language.
  'field of a client': 3 + locales.length,
};

test('one more of a kind is an entry, not a search', () => {
  const counted = new Map(countTouches().map((one) => [one.kind, one]));
  for (const [kind, most] of Object.entries(mostFilesOf)) {
    const { code, texts } = counted.get(kind) ?? assert.fail(`nothing counts a ${kind}`);
    assert.ok(code.files > 0 && code.files + texts.files <= most, `a ${kind} is named in ${code.files} files of code`);
  }
});
