import { readFileSync } from 'node:fs';
import type { Brand, Config } from '../config.ts';
import { accentOn, backgrounds, buttonOn } from '../pages/colours.ts';
import { readPicture } from '../picture-files.ts';

/** Colours as `#rrggbb`: behind the card, of the card, of text, of text beside, of lines; of the button, its text and its edge, and of links. */
export type MailColours = Readonly<
  Record<'paper' | 'card' | 'text' | 'soft' | 'line' | 'button' | 'ink' | 'edge' | 'link', string>
>;

/** What a mail shows of who sends it. */
export type MailBrand = {
  readonly name: string;
  readonly light: MailColours;
  readonly dark: MailColours;
  /** A PNG: hardly any mail program shows an SVG. It travels in the mail, which asks no server for anything. */
  readonly logo: (Readonly<Record<'width' | 'height', number>> & { readonly file: Buffer }) | undefined;
  /** Beside a logo, which may have it in it. */
  readonly isNameShown: boolean;
};

/** The logo among the parts of a mail (RFC 2392). */
export const logoId = 'logo';

/** Bytes. A larger logo would be most of every mail. */
const maxLogo = 64 * 1024;

const { light: onLight, dark: onDark } = backgrounds;

const ofSettings = ({ accent, logo }: Brand) => ({
  // The backgrounds on which a link is hardest to read: the light paper, and a dark card.
  light: { ...buttonOn(accent, 'light'), link: accentOn(accent, onLight.page).accent },
  dark: { ...buttonOn(accent, 'dark'), link: accentOn(accent, onDark.card).accent },
  logo: logo?.endsWith('.png') ? readFileSync(logo) : undefined,
  isNameShown: true,
});

/** Pixels: as high as a line of the name, and no wider than what a phone has beside it. */
const [highest, widest] = [32, 220];

/** Its proportions are kept, whatever a mail program makes of styles. */
function sizedLogo(file: Buffer): MailBrand['logo'] {
  const { width, height } = readPicture(file) ?? { width: 1, height: 1 };
  const scale = Math.min(highest / height, widest / width);
  return { file, width: Math.max(Math.round(width * scale), 1), height: Math.max(Math.round(height * scale), 1) };
}

function read(brand: Brand): MailBrand {
  const { name, inMails = ofSettings(brand) } = brand;
  const { light, dark, logo: image, isNameShown } = inMails;
  return {
    name,
    light: {
      paper: onLight.page,
      card: onLight.card,
      text: '#1d2320',
      soft: '#5b645f',
      line: '#dedcd4',
      button: light.button,
      ink: light.ink,
      edge: light.edge,
      link: light.link,
    },
    dark: {
      paper: onDark.page,
      card: onDark.card,
      text: '#eceeec',
      soft: '#a9b1ac',
      line: '#363c39',
      button: dark.button,
      ink: dark.ink,
      edge: dark.edge,
      link: dark.link,
    },
    logo: image && image.length <= maxLogo ? sizedLogo(image) : undefined,
    isNameShown,
  };
}

const brands = new WeakMap<Brand, MailBrand>();

export const mailBrandOf = ({ brand }: Pick<Config, 'brand'>): MailBrand =>
  brands.getOrInsertComputed(brand, () => read(brand));

/** For a browser, which has no other part of the mail. */
export function withOwnLogo(markup: string, config: Pick<Config, 'brand'>): string {
  const { logo } = mailBrandOf(config);
  return logo ? markup.replace(`cid:${logoId}`, `data:image/png;base64,${logo.file.toString('base64')}`) : markup;
}
