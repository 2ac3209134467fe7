import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Config } from '../config.ts';

/** A file that pages refer to. Its address carries a hash of its content, so browsers may keep it for ever. */
export type Asset = { path: string; type: string; content: Buffer };

/** What every page of this deployment shares. */
export type Look = {
  readonly name: string;
  readonly stylesheet: Asset;
  readonly logo: Asset;
  /** Scripts by the name of their file, without `.js`. */
  readonly scripts: Readonly<Record<string, Asset>>;
  readonly assets: readonly Asset[];
};

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

const folder = join(import.meta.dirname, 'assets');
/** The maintained half of a passkey ceremony that runs in the browser. */
const webauthn = new URL('../dist/bundle/index.umd.min.js', import.meta.resolve('@simplewebauthn/browser'));

/** Reads the files once. The accent colour is written into the stylesheet, so that pages need no inline style. */
export function openLook({ brand }: Pick<Config, 'brand'>): Look {
  const css = readFileSync(join(folder, 'signet.css'), 'utf8').replaceAll('#2f5d50', brand.accent);
  const stylesheet = asset('signet.css', Buffer.from(css));
  const mark = () => readFileSync(join(folder, 'signet.svg'), 'utf8').replaceAll('#2f5d50', brand.accent);
  const logo =
    brand.logo === undefined
      ? asset('logo.svg', Buffer.from(mark()))
      : asset(`logo${extname(brand.logo)}`, readFileSync(brand.logo));
  const scripts: Record<string, Asset> = {
    webauthn: asset('webauthn.js', readFileSync(webauthn)),
  };
  for (const file of readdirSync(folder)) {
    if (file.endsWith('.js')) scripts[file.slice(0, -3)] = asset(file, readFileSync(join(folder, file)));
  }
  return { name: brand.name, stylesheet, logo, scripts, assets: [stylesheet, logo, ...Object.values(scripts)] };
}

function asset(name: string, content: Buffer): Asset {
  const extension = extname(name);
  const fingerprint = hash('sha256', content, 'hex').slice(0, 12);
  const path = `/assets/${name.slice(0, -extension.length)}-${fingerprint}${extension}`;
  return { path, type: types[extension]!, content };
}
