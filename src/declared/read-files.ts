import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Document, LineCounter } from 'yaml';
import type { FieldProblem } from '../platform/errors.ts';
import { apiVersion, keyPattern } from './format.ts';
import { type KindName, kindNames, singleKinds } from './kind.ts';

type Values = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

export type Entry = {
  readonly kind: KindName;
  readonly key: string;
  readonly value: Values;
  /** Of its file. */
  readonly folder: string;
  /** File, line and path, of the entry or of something in it. @param pointer a JSON pointer without its first slash. */
  placeOf(pointer?: string): string;
};

export type Declaration = {
  readonly entries: readonly Entry[];
  /** Those that must be there. */
  readonly required: readonly { id: string; place: string }[];
  readonly problems: readonly FieldProblem[];
};

/** Bytes. */
const largest = 4_194_304;
/** Each time that an anchor is used, all of it counts: a small file could mean gigabytes. */
const mostAliases = 1000;

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The files, and in folders those that end in `.yaml`, `.yml` or `.json`, by name. JSON is read as YAML, of which it is a part.
 * A file may have several documents.
 */
export async function readFiles(paths: readonly string[]): Promise<Declaration> {
  const yaml = await import('yaml');
  const problems: FieldProblem[] = [];
  const entries: Entry[] = [];
  const required: { id: string; place: string }[] = [];
  for (const file of paths.flatMap((path) => filesIn(path, problems))) {
    const text = textOf(file, problems);
    if (text === undefined) continue;
    const lines = new yaml.LineCounter();
    const documents = yaml.parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, strict: true });
    for (const document of 'empty' in documents ? [] : documents) {
      const read = documentReader(document as unknown as Document, { file, lines });
      entries.push(...read.entries);
      required.push(...read.required);
      problems.push(...read.problems);
    }
  }
  return { entries, required, problems: [...problems, ...repeated(entries)] };
}

function filesIn(path: string, problems: FieldProblem[]): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const found = readdirSync(path).filter((name) => /\.(ya?ml|json)$/.test(name));
    if (found.length === 0) problems.push({ path, message: 'The folder has no .yaml, .yml or .json file.' });
    return found.sort().map((name) => join(path, name));
  } catch {
    problems.push({ path, message: 'There is no such file or folder to read.' });
    return [];
  }
}

function textOf(file: string, problems: FieldProblem[]): string | undefined {
  try {
    if (statSync(file).size <= largest) return readFileSync(file, 'utf8');
    problems.push({ path: file, message: `The file has more than ${largest} bytes.` });
  } catch {
    problems.push({ path: file, message: 'The file cannot be read.' });
  }
  return undefined;
}

function documentReader(document: Document, { file, lines }: { file: string; lines: LineCounter }) {
  const problems: FieldProblem[] = [];
  const entries: Entry[] = [];
  const required: { id: string; place: string }[] = [];
  const result = { entries, required, problems };
  const lineAt = (offset: number) => `${file}:${lines.linePos(offset).line}`;
  const placeOf = (path: Path) => `${lineOf(document, path, lineAt)} ${path.join('/')}`.trim();
  for (const { pos, message } of [...document.errors, ...document.warnings])
    problems.push({ path: lineAt(pos[0]), message: `${message}.`.replace(/\.\.$/, '.') });
  if (problems.length > 0) return result;
  const content = contentOf(document);
  if (content === null) return result;
  if (!isObject(content)) {
    problems.push({ path: `${file}:1`, message: 'Must be a mapping with apiVersion and the kinds.' });
    return result;
  }
  const { $schema: _, apiVersion: version, required_providers: named = [], ...kinds } = content;
  if (version !== apiVersion)
    problems.push({ path: placeOf(['apiVersion']), message: `apiVersion must be ${apiVersion}.` });
  if (!Array.isArray(named))
    problems.push({ path: placeOf(['required_providers']), message: 'Must be a list of IDs.' });
  else
    for (const [at, id] of named.entries())
      required.push({ id: String(id), place: placeOf(['required_providers', at]) });
  for (const [kind, list] of Object.entries(kinds)) {
    if (!isKind(kind)) {
      const message = `Is not known. There are: ${[...kindNames, 'required_providers'].join(', ')}.`;
      problems.push({ path: placeOf([kind]), message });
    } else if (!isObject(list)) {
      const more = kind === 'providers' ? ' IDs that must be there belong into required_providers.' : '';
      if (list !== null)
        problems.push({ path: placeOf([kind]), message: `Must be a mapping of keys to entries.${more}` });
    } else if (singleKinds.includes(kind)) {
      const placed = (pointer = '') => placeOf([kind, ...stepsOf(pointer)]);
      entries.push({ kind, key: kind, value: list, folder: dirname(file), placeOf: placed });
    } else {
      for (const [key, value] of Object.entries(list)) {
        if (!keyPattern.test(key))
          problems.push({
            path: placeOf([kind, key]),
            message: 'A key has up to 63 small letters, digits, dots, hyphens and underscores.',
          });
        else if (!isObject(value)) problems.push({ path: placeOf([kind, key]), message: 'Must be a mapping.' });
        else
          entries.push({
            ...{ kind, key, value, folder: dirname(file) },
            placeOf: (pointer = '') => placeOf([kind, key, ...stepsOf(pointer)]),
          });
      }
    }
  }
  return result;
}

const isKind = (name: string): name is KindName => kindNames.some((kind) => kind === name);

/** @returns what the document says; a text, which is refused, if it uses its anchors too often. */
function contentOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: mostAliases });
  } catch {
    return 'too many aliases';
  }
}

const stepsOf = (pointer: string) =>
  pointer === '' ? [] : pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Of what is there: that of a missing member is where its parent begins. */
function lineOf(document: Document, path: Path, lineAt: (offset: number) => string): string {
  for (let length = path.length; length > 0; length--) {
    const steps = path.slice(0, length).map((step) => (/^\d+$/.test(String(step)) ? Number(step) : step));
    const holder = document.getIn(steps.slice(0, -1), true) as { items?: unknown[] } | undefined;
    const last = steps.at(-1);
    const item = holder?.items?.find((one, at) => at === last || keyOf(one) === String(last));
    const [offset] = (item as Ranged)?.key?.range ?? (item as Ranged)?.range ?? [];
    if (offset !== undefined) return lineAt(offset);
  }
  return lineAt(document.contents?.range?.[0] ?? 0);
}

type Ranged = { key?: { range?: number[]; value?: unknown }; range?: number[] } | undefined;
const keyOf = (item: unknown) => ((item as Ranged)?.key ? String((item as Ranged)?.key?.value) : undefined);

function repeated(entries: readonly Entry[]): FieldProblem[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const name = `${entry.kind}/${entry.key}`;
    const before = first.get(name);
    first.set(name, before ?? entry);
    return before ? [{ path: entry.placeOf(), message: `Is declared in ${before.placeOf()}, too.` }] : [];
  });
}
