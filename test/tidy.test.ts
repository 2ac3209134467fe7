import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fieldNames } from '../src/clients/fields.ts';

/** Rules of this repository that a machine can check. Each failure says where, and what to do instead. */
const root = join(import.meta.dirname, '..');
type File = { path: string; text: string };

const read = (pattern: string): File[] =>
  globSync(pattern, { cwd: root, exclude: (path) => /node_modules|^packages\/\w+\/dist/.test(String(path)) })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const isTest = ({ path }: File) => path.endsWith('.test.ts');
const source = read('src/**/*.ts').filter((file) => !isTest(file));
const everything = [...read('{src,test,bench,examples,scripts,packages}/**/*.{ts,js,json,sql,css}'), ...read('bin/*')];

/** Comments are blanked out, and their lines kept, so that a sentence about a rule does not break it. */
const code = (text: string) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[^\S\n])\/\/.*$/gm, (comment) => ' '.repeat(comment.length));

/** @returns `path:line: the line`, for each match in code. */
function found(files: File[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split('\n');
    return [...code(text).matchAll(pattern)].map(({ index }) => {
      const number = code(text).slice(0, index).split('\n').length;
      return `${path}:${number}: ${lines[number - 1]?.trim()}`;
    });
  });
}

function assertNone(violations: string[], advice: string): void {
  assert.equal(violations.length, 0, `${advice}\n  ${violations.join('\n  ')}\n`);
}

const except = (...allowed: (string | RegExp)[]) =>
  source.filter(({ path }) => !allowed.some((one) => (typeof one === 'string' ? path === one : one.test(path))));

/** Texts for other people's programs, which have rules of their own. */
const snippets = /^src\/clients\/libraries\//;

test('the rules see the code that they judge', () => {
  assert.ok(source.length > 50 && everything.length > source.length);
  const sample = [{ path: 'a.ts', text: "// process.env\n/* Date.now() */ const url = 'https://x'; process.env.X;" }];
  assert.deepEqual(found(sample, /process\.env/g), [`a.ts:2: ${sample[0]?.text.split('\n')[1]}`]);
});

test('only the configuration reads the environment', () => {
  assertNone(
    found(except('src/app/config.ts', snippets), /process\s*\.\s*env\b/g),
    'Add a setting to src/app/config.ts and take it from deps.config: an operator must find all settings in one place.',
  );
});

test('a test waits for events by `until`, and by no loop of its own', () => {
  const loops =
    /\b(?:while \([^\n]*\)\s*(?:\{\s*)?await (?:sleep|turn|immediately|new Promise|Promise\.race)|for \([^\n]*\)\s*(?:\{\s*)?await (?:sleep|Promise\.race))\b/g;
  assertNone(
    found(
      everything.filter((file) => isTest(file) || file.path.startsWith('test/')),
      loops,
    ),
    'Wait by until() of test/support/until.ts: it ends when what is waited for never comes, and says what that was.',
  );
});

test('one place makes requests to others', () => {
  const requests =
    /(?<![\w.])fetch\(|['"]node:https?['"]\)|\bimport \{[^}]*\b(?:request|get)\b[^}]*\} from '[^']*node-http\.ts'/g;
  assertNone(
    found(
      except(
        /^src\/platform\/http\/outbound\//,
        'src/platform/http/node-http.ts',
        'src/app/ask-readiness.ts',
        snippets,
      ),
      requests,
    ),
    'Send it by deps.outbound, or by fetchForOperator if the operator names the address: both bound time and size, and follow no redirect.',
  );
});

test('only entry points read the clock', () => {
  assertNone(
    found(except('src/app/main.ts', /^src\/cli\//), /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b/g),
    'Take deps.clock() or now(deps): a test moves that clock.',
  );
});

test('SQL is in stores', () => {
  const sql = /['"`]\s*(select\s[\s\S]{1,2000}?\sfrom|insert\s+into|update\s+\w+\s+set|delete\s+from)\s/gi;
  assertNone(
    found(except(/(^|[/.])store\.ts$/, /^src\/platform\/db\//, 'src/deliveries/queue.ts'), sql),
    'Move the statement to the store of the room that owns the table.',
  );
});

test('a table is written by one store', () => {
  const writers = new Map<string, Set<string>>();
  for (const { path, text } of source) {
    for (const [, table = ''] of code(text).matchAll(/(?:insert into|update|delete from)\s+([a-z_]+)\s/g)) {
      if (
        !read('src/platform/db/migrations/*.sql').some((migration) =>
          migration.text.includes(`create table ${table} (`),
        )
      )
        continue;
      writers.set(table, (writers.get(table) ?? new Set()).add(path));
    }
  }
  assert.ok(writers.size > 5);
  const shared = [...writers]
    .filter(([, paths]) => paths.size > 1)
    .map(([table, paths]) => `${table}: ${[...paths].join(', ')}`);
  assertNone(shared, 'Export the statement from the store that owns the table, and put it into your change.');
});

test('TypeBox is imported in two places', () => {
  assertNone(
    found(
      [...except('src/platform/schema.ts', 'src/platform/validator.ts'), ...read('test/**/*.ts')],
      /from\s+'typebox\b/g,
    ),
    'Take Type and Static from src/platform/schema.ts: the builders of TypeBox would be loaded by every process.',
  );
});

test('no use-case knows Fastify', () => {
  const allowed = [
    'src/app/app.ts',
    'src/authentication/sessions/session.ts',
    'src/authentication/sessions/browser.ts',
    'src/authentication/sessions/return-target.ts',
  ];
  assertNone(
    found(
      except(...allowed, snippets, /[/-]routes\.ts$/, /^src\/platform\/(http|pages|openapi)\//),
      /from\s+['"](@fastify\/|fastify\b)/g,
    ),
    'Parse and answer in routes.ts, and hand the use-case plain values: the command line calls it, too.',
  );
});

test('nothing that is known to be unfinished is left', () => {
  const marks = new RegExp(
    `\\b(${['FIX', 'TO', 'XX'].map((start, index) => start + ['ME', 'DO', 'X'][index]).join('|')})\\b`,
  );
  const left = everything.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (marks.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
  assertNone(left, 'Finish it, or open an issue and say in a comment what holds today.');
});

test('no test is left out', () => {
  const left = found(everything.filter(isTest), /\b(test|it|describe)\.(skip|only|todo)\b|\b(skip|only|todo):\s*true/g);
  assertNone(left, 'A test that does not run protects nothing: mend it or delete it.');
});

test('no compiler error is suppressed', () => {
  const typed = everything.filter(({ path }) => path !== 'test/tidy.test.ts');
  assertNone(found(typed, /\bas any\b|:\s*any\b|<any>|\bany\[\]/g), 'Say the type, or `unknown` and narrow it.');
  const silenced = typed.flatMap(({ path, text }) => (/@ts-(ignore|nocheck|expect-error)/.test(text) ? [path] : []));
  assertNone(silenced, 'Mend the type instead.');
});

test('src/platform/text.ts knows nothing of ours', () => {
  assertNone(
    found(
      source.filter(({ path }) => path === 'src/platform/text.ts'),
      /from\s+['"]\./g,
    ),
    'What needs a room belongs to it. src/platform/text.ts is for functions that any program could use.',
  );
});

test('only src/platform/db knows which engine it is', () => {
  assertNone(
    found(except(/^src\/platform\/db\//), /\bdb\.engine\b|\bengine\s*===|['"](sqlite|postgres)['"]/g),
    'Write SQL that both engines run; what cannot be shared belongs behind the interface in src/platform/db/db.ts.',
  );
});

test('a stylesheet says start and end, not left and right', () => {
  const physical =
    /(?<![\w-])(?:(?:margin|padding|border|inset|scroll-margin|scroll-padding)-(?:left|right)\b|(?:left|right)\s*:|(?:text-align|float|clear)\s*:\s*(?:left|right)\b|border-(?:top|bottom)-(?:left|right)-radius|(?:margin|padding|inset)\s*:\s*[^\s;()]+(?:\([^;]*?\))?(?:\s+[^\s;()]+(?:\([^;]*?\))?){3}\s*;)/g;
  const sample = [
    { path: 'a.css', text: 'a {\n  margin: 0 1px 0 auto;\n}\nb {\n  text-align: start;\n  margin: 0 1px 2px;\n}' },
  ];
  assert.deepEqual(found(sample, physical), ['a.css:2: margin: 0 1px 0 auto;']);
  assertNone(
    found(
      everything.filter(({ path }) => path.endsWith('.css')),
      physical,
    ),
    'Write margin-inline-start, text-align: start and the like: a page in Arabic or Hebrew is mirrored.',
  );
});

test('files are named for what they do', () => {
  const vague = /^(utils?|helpers?|managers?|common|misc|shared)\b|[-.](utils?|helpers?|manager)\./;
  assertNone(
    everything.map(({ path }) => path).filter((path) => vague.test(basename(path))),
    'Name what it is.',
  );
});

test('a file fits a sitting', () => {
  const long = source
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > 350);
  assertNone(
    long.map(({ path, lines }) => `${path}: ${lines} lines`),
    'Split it where two things meet; 350 lines at most.',
  );
});

test('a template is read without scrolling sideways', () => {
  const max = 300; // it comes down with each page that is mended: 160 is what fits a screen
  const long = source
    .filter(({ text }) => text.includes('html`'))
    .flatMap(({ path, text }) => text.split('\n').map((line, index) => ({ where: `${path}:${index + 1}`, line })))
    .filter(({ line }) => line.length > max);
  assertNone(
    long.map(({ where, line }) => `${where}: ${line.length} characters`),
    'Give its pieces names, and break the line within a value, where it is no byte of the page.',
  );
});

test('every dependency is pinned exactly', () => {
  const declared = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const dependencies = { ...declared.dependencies, ...declared.optionalDependencies };
  const loose = Object.entries<string>({ ...dependencies, ...declared.devDependencies }).filter(
    ([, range]) => !/^(npm:[\w/@.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range),
  );
  assertNone(
    loose.map(([name, range]) => `${name}: ${range}`),
    'Write the exact version: an update is a commit that is reviewed.',
  );
});

/** The packages that a file imports, also dynamically and by `import.meta.resolve`. */
const packagesOf = ({ text }: File): string[] =>
  code(text)
    .matchAll(/(?:^import\b[^;']*|\bimport\(|\bimport\.meta\.resolve\()'((?:@[\w-]+\/)?[a-z][\w.-]*)['/]/gm)
    .map(([, name = '']) => name)
    .toArray();

/** A package is installed without ours: what its source imports, it declares itself. */
function undeclaredByPackages(): string[] {
  return read('packages/*/package.json').flatMap(({ path, text }) => {
    const { dependencies, peerDependencies } = JSON.parse(text);
    return read(`${dirname(path)}/src/**/*.ts`).flatMap((file) =>
      packagesOf(file)
        .filter((name) => !(name in { ...dependencies, ...peerDependencies }))
        .map((name) => `${file.path}: ${name}`),
    );
  });
}

test('every imported package is declared, and every dependency is imported', () => {
  const declared = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const dependencies = { ...declared.dependencies, ...declared.optionalDependencies };
  const program = [...except(snippets), ...read('examples/**/*.ts')];
  const undeclared = everything
    .filter(({ path }) => path.endsWith('.ts') && !snippets.test(path))
    .flatMap((file) => {
      const allowed = program.some(({ path }) => path === file.path)
        ? dependencies
        : { ...dependencies, ...declared.devDependencies };
      return packagesOf(file)
        .filter((name) => !(name in allowed))
        .map((name) => `${file.path}: ${name}`);
    });
  assertNone(
    [...undeclared, ...undeclaredByPackages()],
    'Add the package to package.json: what another package happens to bring may go with it.',
  );
  const used = new Set(program.flatMap(packagesOf));
  // The program runs on the package `node`; see bin/signet.
  const unused = Object.keys(dependencies).filter((name) => name !== 'node' && !used.has(name));
  assertNone(unused, 'Remove the dependency, or move it to devDependencies if only tests import it.');
});

test('the lockfile pins the bytes of every package, for every system, and names no registry but the configured one', () => {
  type Entry = { integrity?: string; resolved?: string; link?: boolean };
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Entry>;
  };
  const fetched = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);
  assert.ok(fetched.length > 100);
  const loose = fetched.filter(
    ([, { integrity, resolved }]) =>
      !/^sha512-/.test(integrity ?? '') ||
      (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/')),
  );
  assertNone(
    loose.map(([path]) => path),
    'Add its `dist.integrity`: `npm view NAME@VERSION dist.integrity`.',
  );
});

test('a room keeps its routes, its stores and its use-cases apart', () => {
  const storesThatDecide = found(
    source.filter(({ path }) => /(^|[/.])store\.ts$/.test(path)),
    /\bthrow\b|from\s+'[./]+\/errors\.ts'/g,
  );
  assertNone(storesThatDecide, 'A store answers; the use-case decides what it means and refuses.');
  const sqlInRoutes = found(
    source.filter(({ path }) => /(^|-)routes\.ts$/.test(basename(path))),
    /\bdb\.(all|get|run|change)\(/g,
  );
  assertNone(sqlInRoutes, `Call a function of a store or a use-case instead.`);
});

/** Names in words, and comments. Texts between quotes are left out: they are names on the wire and keys of messages. */
function wordsOf(text: string): string {
  const bare = code(text);
  const unquoted = bare.replace(/'(?:\\.|[^'\\\n])*'/g, (quoted) => ' '.repeat(quoted.length));
  const kept = Array.from({ length: text.length }, (_, at) => (bare[at] === text[at] ? unquoted[at] : text[at]));
  return kept.join('').replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ');
}

/** @returns `path:line: word`, for each of the words that a file has. */
function wordsIn(files: File[], words: readonly string[]): string[] {
  const pattern = new RegExp(`(?<![\\w-])(?:${words.join('|')})(?![\\w-])`, 'gi');
  return files.flatMap(({ path, text }) =>
    wordsOf(text)
      .replaceAll(/\bkeep Alive\b/gi, 'keepAlive') // the name that Node gave it
      .split('\n')
      .flatMap((line, index) => [...line.matchAll(pattern)].map(([word]) => `${path}:${index + 1}: ${word}`)),
  );
}

test('the glossary is kept to: words that it replaces are in no name and no comment', () => {
  const sample = [
    { path: 'a.ts', text: "// A live one.\nconst isAlive = 'alive', keepAlive = alive_at;\n/** Alive. */" },
  ];
  assert.deepEqual(wordsIn(sample, ['live', 'alive']), ['a.ts:1: live', 'a.ts:2: Alive', 'a.ts:3: Alive']);
  const [, table = ''] = readFileSync(join(root, 'docs/glossary.md'), 'utf8').split('## Words to avoid');
  const words = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = '']) => word),
  );
  assert.ok(words.length > 10, 'it reads the table');
  const own = [...source, ...read('packages/*/src/**/*.ts'), ...read('src/**/*.js')];
  assertNone(wordsIn(own, words), 'Write the term of docs/glossary.md.');
});

test('a script of a page names no field of a client: the form says which it has, and of what kind', () => {
  const fields = [...fieldNames, 'client_type', 'note_to_reviewer'].filter((name) => name.includes('_'));
  assert.ok(fields.length > 10, 'it knows the fields');
  assertNone(
    read('src/platform/pages/assets/*.js').flatMap(({ path, text }) =>
      fields.filter((name) => text.includes(name)).map((name) => `${path}: ${name}`),
    ),
    'Have the form say it in an attribute, from src/clients/fields.ts.',
  );
});
