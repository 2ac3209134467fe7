import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { listAssets, readAsset } from '../assets.ts';
import type { Clock } from '../clock.ts';
import type { Brand, Config } from '../config.ts';
import { readPicture } from '../picture-files.ts';
import { type BrandPicture, type BrandVersion, inEffect, noVersion, type PictureName, wordsAt } from './brand.ts';
import { brandStyle, buttonOf, linkOn } from './brand-style.ts';
import { readSvgSize } from './svg-size.ts';

/** The path has a hash of the content, so browsers may cache it for ever. */
export type Asset = { readonly path: string; readonly type: string; readonly content: Buffer };

/** A picture of the brand. Pixels. */
export type Logo = Pick<Asset, 'path' | 'type'> & { readonly width: number; readonly height: number };

/** What pages are made of at one moment. */
export type Look = Readonly<ReturnType<typeof inEffect>> & {
  readonly version: number;
  /** Of a page that is one card, as those of a sign-in are, and of one with a navigation. */
  readonly stylesheets: Readonly<Record<'card' | 'area', Asset>>;
  readonly logo: Logo;
  /** Where it is another one in the dark. */
  readonly logoDark: Logo | undefined;
  /** Square: of the tab of a browser, and beside the logo of an app. */
  readonly icon: Logo;
  /** Of the home screen of a phone. */
  readonly touchIcon: Logo | undefined;
  /** The scripts by the name of their file, without `.js`. */
  readonly scripts: Readonly<Record<string, Asset>>;
  /** What stands on buttons of providers: what is shipped by its name, the operator's own by `provider:` and the id of the provider. */
  readonly marks: Readonly<Record<string, Asset>>;
  /** For what reads the settings. */
  readonly brand: Brand;
  /** What was made for it alone. */
  readonly made: readonly Asset[];
};

export type Branding = {
  /** At most a second older than the last page for people. */
  readonly look: Look;
  /** Asks for the newest version, unless it was asked for within the last second. Never fails: a page of the last look is better than none. */
  refresh(): Promise<void>;
  /** The next {@link refresh} asks, however soon. */
  forget(): void;
  /** @returns undefined for what no look of the last hours has had. */
  find(path: string): Promise<Asset | undefined>;
  /** Where a picture of the brand is. */
  pathOf(picture: Pick<BrandPicture, 'picture_id' | 'media_type'>): string;
  /** The look that another version would have. What is made for it alone is not found by its path. */
  lookOf(version: BrandVersion): Promise<Look>;
};

/** Where versions and their pictures are kept. */
export type BrandSource = {
  /** @returns undefined if nothing has been said. */
  read(): Promise<BrandVersion | undefined>;
  /** @returns the file. */
  readFile(picture_id: string): Promise<Buffer | undefined>;
};

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
};
const pathOf = ({ picture_id, media_type }: Pick<BrandPicture, 'picture_id' | 'media_type'>): string =>
  `/assets/brand-${picture_id}${extensionOf(media_type)}`;
const extensionOf = (type: string) => Object.entries(types).find(([, one]) => one === type)![0];

const folder = 'platform/pages/assets';
const freshForMs = 1000;
/** Stylesheets and pictures that are kept in memory: a page that was drawn before a change still asks for its own. */
const maxAssets = 100;

type ProviderLogos = { readonly providers: readonly { readonly id: string; readonly logo?: string }[] };

/** The files that all pages share, and the brand. */
export async function openBranding(
  { config, clock }: { config: Pick<Config, 'brand' | 'support'> & ProviderLogos; clock: Clock },
  source: BrandSource,
): Promise<Branding> {
  const rules = readAsset(`${folder}/signet.css`);
  const own = config.brand.stylesheet === undefined ? '' : readFileSync(config.brand.stylesheet, 'utf8');
  const scripts: Record<string, Asset> = {};
  const assets = new Map<string, Asset>();
  const keep = (one: Asset): Asset => {
    assets.delete(one.path);
    assets.set(one.path, one);
    if (assets.size > maxAssets) assets.delete(assets.keys().next().value!);
    return one;
  };
  const fixed = new Map<string, Asset>();
  const marks: Record<string, Asset> = {};
  const addMark = (name: string, mark: Asset) => {
    marks[name] = mark;
    fixed.set(mark.path, mark);
  };
  for (const { id, logo } of config.providers) {
    const picture = logo === undefined ? undefined : readPicture(readFileSync(logo));
    if (picture) addMark(`provider:${id}`, asset(`provider-${id}${extensionOf(picture.media_type)}`, picture.content));
  }
  for (const file of listAssets(folder)) {
    const [, mark] = /^mark-(\w+)\.svg$/.exec(file) ?? [];
    if (mark !== undefined) addMark(mark, asset(file, Buffer.from(readAsset(`${folder}/${file}`).trim())));
    if (!file.endsWith('.js')) continue;
    const script = asset(file, Buffer.from(withoutCommentLines(readAsset(`${folder}/${file}`))));
    scripts[file.slice(0, -3)] = script;
    fixed.set(script.path, script);
  }
  const fileOfSettings = config.brand.logo === undefined ? undefined : logoFile(config.brand.logo);
  if (fileOfSettings) fixed.set(fileOfSettings.path, fileOfSettings);

  async function uploaded(picture: BrandPicture | undefined): Promise<Logo | undefined> {
    if (picture === undefined) return undefined;
    const { picture_id, media_type: type, width, height } = picture;
    const path = pathOf(picture);
    if (!assets.has(path)) {
      const content = await source.readFile(picture_id);
      if (content === undefined) return undefined;
      keep({ path, type, content });
    }
    return { path, type, width, height };
  }

  async function lookOf({ version, settings }: BrandVersion): Promise<Look> {
    const brand = inEffect(config, settings);
    const given: Partial<Record<PictureName, Logo>> = {};
    for (const [name, picture] of Object.entries(brand.pictures) as [PictureName, BrandPicture][]) {
      const found = await uploaded(picture);
      if (found) given[name] = found;
    }
    const sheet = (name: string, text: string) =>
      asset(name, Buffer.from(brandStyle(brand) + withoutComments(text) + own));
    const stylesheets = { card: sheet('card.css', withoutAreas(rules)), area: sheet('signet.css', rules) };
    const mark = markOf(linkOn(brand, 'light').accent);
    const logo = given.logo ?? given.logo_dark ?? fileOfSettings ?? sized(mark);
    const { width, height } = logo;
    const isSquare = Math.max(width, height) <= Math.min(width, height) * 1.5;
    const { button, ink } = buttonOf(brand, 'light');
    const initial = initialOf(brand.name, button, ink);
    const icon = given.icon ?? (isSquare ? logo : sized(initial));
    return {
      ...brand,
      version,
      stylesheets,
      logo,
      logoDark: given.logo_dark !== logo ? given.logo_dark : undefined,
      icon,
      touchIcon: given.touch_icon,
      scripts,
      marks,
      brand: {
        ...config.brand,
        name: brand.name,
        accent: brand.button,
        inMails: {
          light: { ...buttonOf(brand, 'light'), link: linkOn(brand, 'light').accent },
          dark: { ...buttonOf(brand, 'dark'), link: linkOn(brand, 'dark').accent },
          logo: logo.type === 'image/png' ? (fixed.get(logo.path) ?? assets.get(logo.path))?.content : undefined,
          isNameShown: brand.name_shown,
          words: (locale) => wordsAt(brand, 'mail_footer', locale)?.text,
          links: linksIn(brand),
        },
        inSettings: { name: config.brand.name, accent: config.brand.accent, support: config.support },
      },
      made: [...Object.values(stylesheets), mark, initial],
    };
  }

  const keepMade = (one: Look): Look => {
    for (const made of one.made) keep(made);
    return one;
  };
  let look = keepMade(await lookOf(noVersion));
  let askedAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const newest = (await source.read()) ?? noVersion;
    if (newest.version !== look.version) look = keepMade(await lookOf(newest));
  }

  async function refresh(): Promise<void> {
    const age = clock() - askedAt;
    if (age >= 0 && age < freshForMs) return pending;
    askedAt = clock();
    pending = ask().catch(() => undefined); // the store is away: what needs it says so
    return pending;
  }

  const inMemory = (path: string) => fixed.get(path) ?? look.made.find((one) => one.path === path) ?? assets.get(path);

  return {
    get look() {
      return look;
    },
    refresh,
    forget() {
      askedAt = Number.NEGATIVE_INFINITY;
    },
    async find(path) {
      const known = inMemory(path);
      if (known) return known;
      // Another node may have drawn the page with a newer look, or this one was started since.
      const [, picture_id, extension = ''] = /^\/assets\/brand-([0-9a-f]{32})(\.\w+)$/.exec(path) ?? [];
      const type = types[extension];
      if (picture_id !== undefined && type !== undefined) {
        const content = await source.readFile(picture_id);
        // Sent as nothing else: the bytes of a picture are no stylesheet, whatever its path ends with.
        return content && readPicture(content)?.media_type === type ? keep({ path, type, content }) : undefined;
      }
      await refresh();
      return inMemory(path);
    },
    pathOf,
    lookOf,
  };
}

/** A file of the operator's, of which the size is read. */
function logoFile(path: string): Asset & Logo {
  const content = readFileSync(path);
  const size = path.endsWith('.svg') ? readSvgSize(content.toString('utf8')) : readPicture(content);
  return { ...asset(`logo${extname(path)}`, content), width: size?.width ?? 1, height: size?.height ?? 1 };
}

const sized = ({ path, type }: Asset): Logo => ({ path, type, width: 32, height: 32 });

const markOf = (colour: string): Asset =>
  asset('logo.svg', Buffer.from(readAsset(`${folder}/signet.svg`).replaceAll('#2f5d50', colour)));

/** Where there is no square picture: our own mark would be another's. */
function initialOf(name: string, background: string, ink: string): Asset {
  const [letter = ''] =
    new Intl.Segmenter()
      .segment(name)
      [Symbol.iterator]()
      .next()
      .value?.segment.toUpperCase()
      .match(/^[\p{L}\p{N}].*$/su) ?? [];
  const markup = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${background}"/><text x="16" y="22.5" font-family="system-ui,sans-serif" font-size="19" font-weight="600" text-anchor="middle" fill="${ink}">${letter}</text></svg>`;
  return asset('icon.svg', Buffer.from(markup));
}

const linksIn = ({ terms_url, privacy_url, help_url }: Pick<Look, 'terms_url' | 'privacy_url' | 'help_url'>) =>
  [
    ['layout.help', help_url] as const,
    ['layout.terms', terms_url] as const,
    ['layout.privacy', privacy_url] as const,
  ].flatMap(([name, url]) => (url === null ? [] : [[name, url] as const]));

const withoutAreas = (css: string): string => css.replaceAll(/\/\* Areas only \*\/.*?\/\* All pages \*\//gs, '');

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
