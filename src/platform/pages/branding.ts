import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { listAssets, readAsset } from '../assets.ts';
import type { Config } from '../config.ts';

/** A colour as red, green and blue from 0 to 255. */
type Colour = readonly [number, number, number];

const parse = (hex: string): Colour => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as never;
const write = (colour: Colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

/** From 0 to 1, as in `hsl()` of CSS. */
const lightnessOf = (colour: Colour) => (Math.max(...colour) + Math.min(...colour)) / 510;

/** Keeps hue and saturation: mixing with white would turn a dark green grey. */
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

/** The colour itself if its contrast with `background` is `ratio`, else the first lighter or darker one with it. */
function untilReadable(hex: string, towards: 0 | 1, background: string, ratio: number): string {
  let found = hex;
  const colour = parse(hex);
  const from = lightnessOf(colour);
  for (let step = 1; contrast(found, background) < ratio && step <= 100; step += 1) {
    found = write(withLightness(colour, from + (towards - from) * (step / 100)));
  }
  return found;
}

/**
 * The accent colour, made darker or lighter where it must be to be readable on a background: of links, lines and buttons
 * (`accent`), under the pointer (`hover`), and of text on either of them (`ink`). All are `#rrggbb`.
 */
export function accentOn(hex: string, background: string) {
  const onLight = luminance(parse(background)) > 0.18;
  const far = onLight ? 0 : 1;
  // More than AA on dark: thin light lines on black are harder to see than dark ones on white.
  const accent = untilReadable(hex, far, background, onLight ? 4.6 : 7);
  const lightness = lightnessOf(parse(accent));
  const hoverAt = (end: number) => write(withLightness(parse(accent), lightness + (end - lightness) * 0.25));
  // Further from the background; at the end of the scale back a little, as far as it stays readable.
  const back = untilReadable(hoverAt(1 - far), far, background, 4.6);
  const hover = contrast(hoverAt(far), accent) >= 1.12 ? hoverAt(far) : back;
  return { accent, hover, ink: onLight ? '#ffffff' : '#0c110f' };
}

/** The path has a hash of the content, so browsers may cache it for ever. */
type Asset = { path: string; type: string; content: Buffer };

export type Branding = Readonly<ReturnType<typeof openBranding>>;

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

const folder = 'platform/pages/assets';

/** The files that all pages share, read once. The accent colour is part of the stylesheet: pages need no inline style. */
export function openBranding({ brand }: Pick<Config, 'brand'>) {
  // The backgrounds of `signet.css` on which an accent is hardest to read: the light page, and a dark card.
  const [onLight, onDark] = [accentOn(brand.accent, '#f6f5f1'), accentOn(brand.accent, '#1e2220')];
  const properties = ({ accent, hover, ink }: typeof onLight) =>
    `:root{--accent:${accent};--accent-hover:${hover};--accent-ink:${ink}}`;
  const accents = `${properties(onLight)}@media (prefers-color-scheme:dark){${properties(onDark)}}\n`;
  const stylesheet = asset('signet.css', Buffer.from(accents + withoutComments(readAsset(`${folder}/signet.css`))));
  const mark = () => readAsset(`${folder}/signet.svg`).replaceAll('#2f5d50', onLight.accent);
  const logo =
    brand.logo === undefined
      ? asset('logo.svg', Buffer.from(mark()))
      : asset(`logo${extname(brand.logo)}`, readFileSync(brand.logo));
  /** The scripts by the name of their file, without `.js`. */
  const scripts: Record<string, Asset> = {};
  for (const file of listAssets(folder)) {
    if (file.endsWith('.js'))
      scripts[file.slice(0, -3)] = asset(file, Buffer.from(withoutCommentLines(readAsset(`${folder}/${file}`))));
  }
  return { name: brand.name, stylesheet, logo, scripts, assets: [stylesheet, logo, ...Object.values(scripts)] };
}

/** A stylesheet as it is sent: a fifth of it is for its editors. */
const withoutComments = (css: string): string =>
  css
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s*\n\s*/g, '\n')
    .replaceAll(/(?<=[{};,])\n| (?={\n)/g, '')
    .replaceAll(/(?<=[{;][\w-]+:) /g, '');

/** A script as it is sent: without the lines that are comments. */
const withoutCommentLines = (script: string): string => script.replaceAll(/^ *(?:\/\/.*|\/\*\*.*\*\/)\n/gm, '');

function asset(name: string, content: Buffer): Asset {
  const extension = extname(name);
  const fingerprint = hash('sha256', content, 'hex').slice(0, 12);
  const path = `/assets/${name.slice(0, -extension.length)}-${fingerprint}${extension}`;
  return { path, type: types[extension]!, content };
}
