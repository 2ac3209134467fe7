import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Config } from '../config.ts';

/** A colour as red, green and blue from 0 to 255. */
type Colour = readonly [number, number, number];

/** The colours that one accent becomes on light paper or on dark, as `#rrggbb`. */
type AccentColours = {
  /** Of links and lines on the paper, and of the ground of a button. */
  readonly accent: string;
  /** The same under the pointer. */
  readonly hover: string;
  /** Text on either of them. */
  readonly ink: string;
};

const parse = (hex: string): Colour => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as never;
const write = (colour: Colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

/** How light a colour is from 0 to 1, as CSS counts it in `hsl()`. */
const lightnessOf = (colour: Colour) => (Math.max(...colour) + Math.min(...colour)) / 510;

/** The same hue and saturation, lighter or darker: mixing with white would leave a dark green grey. */
function withLightness(colour: Colour, lightness: number): Colour {
  const before = lightnessOf(colour);
  const room = (at: number) => 1 - Math.abs(2 * at - 1);
  const stretch = room(before) === 0 ? 0 : room(lightness) / room(before);
  return colour.map((part) => (part - before * 255) * stretch + lightness * 255) as never;
}

/** Relative luminance, 0 to 1 (WCAG 2.2). */
function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) => {
    const channel = part / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio, 1 to 21 (WCAG 2.2). @param one `#rrggbb`, and so is the other. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(parse(one)), luminance(parse(other))].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** The colour itself if it stands out from `ground` by `ratio`, else the first lighter or darker one that does. */
function untilReadable(hex: string, towards: 0 | 1, ground: string, ratio: number): string {
  let found = hex;
  const colour = parse(hex);
  const from = lightnessOf(colour);
  for (let step = 1; contrast(found, ground) < ratio && step <= 100; step += 1) {
    found = write(withLightness(colour, from + (towards - from) * (step / 100)));
  }
  return found;
}

/** How much of the room that is left a colour takes to under the pointer. */
const hoverStep = 0.25;

/**
 * One accent, made readable on paper: as it is where it can be, darker or lighter where it must.
 * @param hex `#rrggbb`
 * @param paper the ground that leaves the least contrast, which decides by its own lightness which way to go.
 */
export function accentOn(hex: string, paper: string): AccentColours {
  const onLight = luminance(parse(paper)) > 0.18;
  const far = onLight ? 0 : 1;
  // On dark paper more than AA asks for: a thin light line on black swims sooner than a dark one on white.
  const accent = untilReadable(hex, far, paper, onLight ? 4.6 : 7);
  const lightness = lightnessOf(parse(accent));
  const hoverAt = (end: number) => write(withLightness(parse(accent), lightness + (end - lightness) * hoverStep));
  // Further from the paper; where there is no further to go, back a little, as far as it stays readable.
  const back = untilReadable(hoverAt(1 - far), far, paper, 4.6);
  const hover = contrast(hoverAt(far), accent) >= 1.12 ? hoverAt(far) : back;
  return { accent, hover, ink: onLight ? '#ffffff' : '#0c110f' };
}

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
