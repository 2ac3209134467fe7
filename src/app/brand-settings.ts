import { resolve } from 'node:path';
import type { Brand } from '../platform/config.ts';
import { ConfigError } from '../platform/errors.ts';
import { readNamedFile } from '../platform/named-files.ts';
import { displayNameProblem } from '../platform/text.ts';

function must(holds: boolean, sentence: string): void {
  if (!holds) throw new ConfigError(sentence);
}

function refuse(sentence: string): never {
  throw new ConfigError(sentence);
}

type Read = (name: 'SIGNET_NAME' | 'SIGNET_LOGO' | 'SIGNET_ACCENT' | 'SIGNET_STYLESHEET') => string | undefined;

/** @throws {ConfigError} */
export function readBrand(read: Read): Brand {
  const name = read('SIGNET_NAME') ?? 'Signet';
  must(displayNameProblem(name) === undefined && name.length <= 40, 'SIGNET_NAME must be 1 to 40 visible characters.');
  const logo = read('SIGNET_LOGO');
  must(logo === undefined || /\.(svg|png)$/.test(logo), 'SIGNET_LOGO must name an .svg or .png file.');
  if (logo !== undefined) readNamedFile('SIGNET_LOGO', logo, refuse);
  const accent = read('SIGNET_ACCENT') ?? '#2f5d50';
  must(/^#[0-9a-f]{6}$/i.test(accent), 'SIGNET_ACCENT must be a colour such as #2f5d50.');
  const stylesheet = read('SIGNET_STYLESHEET');
  if (stylesheet !== undefined) refuseUnsafe(stylesheet);
  return Object.freeze({
    name,
    logo: logo && resolve(logo),
    accent: accent.toLowerCase(),
    stylesheet: stylesheet && resolve(stylesheet),
  });
}

const maxStylesheetKb = 16;

/** Its author may set everything else as well; but a page of ours asks no other server for anything. */
function refuseUnsafe(path: string): void {
  must(path.endsWith('.css'), 'SIGNET_STYLESHEET must name a .css file.');
  const text = readNamedFile('SIGNET_STYLESHEET', path, refuse).toString();
  must(
    Buffer.byteLength(text) <= maxStylesheetKb * 1024,
    `SIGNET_STYLESHEET names a file of more than ${maxStylesheetKb} KB.`,
  );
  // An escape of CSS would be another spelling of either.
  must(
    !/@import|@font-face|url\s*\(|image-set\s*\(|\\/i.test(text),
    'SIGNET_STYLESHEET names a file with @import, @font-face, url(), image-set() or a backslash: pages load nothing else.',
  );
}
