import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { getAsset, getAssetKeys, isSea } from 'node:sea';

/**
 * What this program is: its sources in a clone, JavaScript that `npm run build` made of them, or one executable file with
 * everything inside.
 */
export const form = isSea() ? 'executable' : import.meta.filename.endsWith('.ts') ? 'sources' : 'build';

/** `src`, or in a build the folder that repeats it, with all code in `cli`. */
const root = join(import.meta.dirname, '..');

/** Files of packages, and where a clone has them; the other forms have copies. */
const inPackages: Readonly<Record<string, () => URL>> = {
  // What is required is this file itself, and what is imported a module beside its folder.
  'authentication/credentials/formats/bcrypt.js': () =>
    new URL(import.meta.resolve('bcryptjs').replace(/(?:\/umd)?\/index\.js$/, '/umd/index.js')),
};

/**
 * Folders of documentation that are part of the program, and where a clone has them; the other forms have copies. What is about the
 * code alone stays in the clone: decisions, the specification, glossaries.
 */
export const documentation: Readonly<Record<string, string>> = {
  docs: '../docs',
  ...Object.fromEntries(
    [
      'api',
      'import',
      'incidents',
      'monitoring',
      'performance',
      'relying-parties',
      'resource-servers',
      'screenshots',
    ].map((name) => [`docs/${name}`, `../docs/${name}`]),
  ),
  'docs/verify': '../packages/verify',
};
/** Of the files in them. */
export const isDocumentation = (name: string): boolean =>
  /\.(?:md|png|svg|json|yaml)$/.test(name) && !notOfPackage.has(name);
const notOfPackage = new Set(['package.json', 'tsconfig.json', 'CHANGELOG.md']);

const folderOf = (folder: string) =>
  join(root, form === 'sources' && Object.hasOwn(documentation, folder) ? documentation[folder]! : folder);

/** Reads a file that comes with the program. @param path below `src`. */
export function readAsset(path: string): string {
  if (form === 'executable') return getAsset(path, 'utf8');
  const inPackage = form === 'sources' ? inPackages[path] : undefined;
  return readFileSync(inPackage?.() ?? join(folderOf(dirname(path)), basename(path)), 'utf8');
}

/** As {@link readAsset}, of a file that is no text. */
export const readAssetBytes = (path: string): Buffer =>
  form === 'executable' ? Buffer.from(getAsset(path)) : readFileSync(join(folderOf(dirname(path)), basename(path)));

/** @returns the names of the files in a folder below `src`, in order. */
export function listAssets(folder: string): string[] {
  const names =
    form === 'executable'
      ? getAssetKeys().flatMap((key) => (key.startsWith(`${folder}/`) ? [key.slice(folder.length + 1)] : []))
      : readdirSync(folderOf(folder));
  const ofPackages = Object.keys(inPackages).filter((path) => dirname(path) === folder);
  if (form === 'sources') names.push(...ofPackages.map((path) => basename(path)));
  return names.sort();
}
