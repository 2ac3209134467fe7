import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { getAsset, getAssetKeys, isSea } from 'node:sea';

/**
 * What this program is: its sources in a clone, JavaScript that `npm run build` made of them, or one executable file with
 * everything inside.
 */
export const form = isSea() ? 'executable' : import.meta.filename.endsWith('.ts') ? 'sources' : 'build';

/** `src`, or in a build the folder that repeats it, with all code in `cli`. */
const root = join(import.meta.dirname, '..');

/** Ships in a package; the other forms have a copy. */
const webauthn = 'platform/pages/assets/webauthn.js';
const webauthnInPackage = () =>
  new URL('../dist/bundle/index.umd.min.js', import.meta.resolve('@simplewebauthn/browser'));

/** Reads a file that comes with the program. @param path below `src`. */
export function readAsset(path: string): string {
  if (form === 'executable') return getAsset(path, 'utf8');
  return readFileSync(form === 'sources' && path === webauthn ? webauthnInPackage() : join(root, path), 'utf8');
}

/** @returns the names of the files in a folder below `src`, in order. */
export function listAssets(folder: string): string[] {
  const names =
    form === 'executable'
      ? getAssetKeys().flatMap((key) => (key.startsWith(`${folder}/`) ? [key.slice(folder.length + 1)] : []))
      : readdirSync(join(root, folder));
  if (form === 'sources' && webauthn.startsWith(`${folder}/`)) names.push(basename(webauthn));
  return names.sort();
}
