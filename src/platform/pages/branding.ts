import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Config } from '../config.ts';
import { type AccentColours, accentOn } from './accent.ts';

/** A file that pages refer to. Its address carries a hash of its content, so browsers may keep it for ever. */
type Asset = { path: string; type: string; content: Buffer };

/** What every page of this deployment shares. */
export type Branding = {
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

/** The grounds of `signet.css` on which an accent is hardest to read: light paper, and a dark card. */
const grounds = { light: '#f6f5f1', dark: '#1e2220' };

/** Reads the files once. The accent colour is written into the stylesheet, so that pages need no inline style. */
export function openBranding({ brand }: Pick<Config, 'brand'>): Branding {
  const css = accentProperties(brand.accent) + readFileSync(join(folder, 'signet.css'), 'utf8');
  const stylesheet = asset('signet.css', Buffer.from(css));
  const onLight = accentOn(brand.accent, grounds.light).accent;
  const mark = () => readFileSync(join(folder, 'signet.svg'), 'utf8').replaceAll('#2f5d50', onLight);
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

/** What an operator chose, as the stylesheet uses it: readable whatever it is. */
function accentProperties(chosen: string): string {
  const properties = ({ accent, hover, ink }: AccentColours) =>
    `:root{--accent:${accent};--accent-hover:${hover};--accent-ink:${ink}}`;
  const dark = properties(accentOn(chosen, grounds.dark));
  return `${properties(accentOn(chosen, grounds.light))}@media (prefers-color-scheme:dark){${dark}}\n`;
}

function asset(name: string, content: Buffer): Asset {
  const extension = extname(name);
  const fingerprint = hash('sha256', content, 'hex').slice(0, 12);
  const path = `/assets/${name.slice(0, -extension.length)}-${fingerprint}${extension}`;
  return { path, type: types[extension]!, content };
}
