import { readFileSync, statSync } from 'node:fs';

/** A file that a setting names. @param refuse is given a sentence that begins with the name of the setting. */
export function readNamedFile(setting: string, path: string, refuse: (sentence: string) => never): Buffer {
  try {
    // A pipe or a device would be waited for, or read without an end.
    if (statSync(path).isFile()) return readFileSync(path);
  } catch (error) {
    return refuse(namedFileProblem(setting, error, ', or leave the setting out'));
  }
  return refuse(noFile(setting));
}

const noFile = (setting: string) => `${setting} names a folder or a device. It must name a file.`;

/** Why a file that a setting names was not read. @param otherwise what can be done instead of mending the file. */
export function namedFileProblem(setting: string, error: unknown, otherwise = ''): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return `${setting} names a file that does not exist.`;
  if (code === 'EISDIR') return noFile(setting);
  return code === 'EACCES' || code === 'EPERM'
    ? `${setting} names a file that the user of this process may not read (${code}). Let that user read it and enter its folders${otherwise}.`
    : `${setting} names a file that cannot be read (${code}). Put another one there${otherwise}.`;
}
