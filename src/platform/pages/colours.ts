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

/** What is behind a button: the card and the page of the built-in look. */
export const backgrounds = {
  light: { card: '#ffffff', page: '#f6f5f1' },
  dark: { card: '#1e2220', page: '#151816' },
} as const;
export type Scheme = keyof typeof backgrounds;

/** Whether it is nearer to white than to black. */
export const isLight = (hex: string): boolean => contrast(hex, '#000000') > contrast(hex, '#ffffff');

const inks = { dark: '#0c110f', light: '#ffffff' };

/** The better readable of our inks. The softer dark one has less than 4.5:1 on a few colours, where neither it nor white will do. */
export function inkOn(background: string): string {
  const best = contrast(inks.light, background) >= contrast(inks.dark, background) ? inks.light : inks.dark;
  return contrast(best, background) >= 4.5 ? best : '#000000';
}

/** A secondary text with 4.5:1: as far from the ink towards its background as it may be, and no further than half. */
export function softInkOn(background: string): string {
  const [ink, paper] = [parse(inkOn(background)), parse(background)];
  for (let share = 0.4; share > 0; share -= 0.05) {
    const mixed = write(ink.map((part, at) => part + (paper[at]! - part) * share) as never);
    if (contrast(mixed, background) >= 4.6) return mixed;
  }
  return write(ink);
}

/**
 * A button keeps its colour, and its text is the ink that is readable on it. One that is hard to tell from its card gets an `edge` on
 * light, and is made lighter on dark, where one that is nearly black would be gone, and a grey one looks switched off. All are `#rrggbb`.
 */
export function buttonOn(hex: string, scheme: Scheme) {
  const { card } = backgrounds[scheme];
  const isGrey = Math.max(...parse(hex)) - Math.min(...parse(hex)) < 24;
  const button = scheme === 'dark' && contrast(hex, card) < 3 ? untilReadable(hex, 1, card, isGrey ? 13 : 7) : hex;
  const ink = inkOn(button);
  const lightness = lightnessOf(parse(button));
  const away = isLight(ink) ? 0 : 1;
  const moved = (end: number, share: number) =>
    write(withLightness(parse(button), lightness + (end - lightness) * share));
  // Away from the ink, so that the text on it becomes more readable, unless there is nowhere to go.
  const further = moved(away, 0.25);
  const hover =
    contrast(further, button) >= 1.12
      ? further
      : ([0.25, 0.2, 0.15, 0.1, 0.05].map((share) => moved(1 - away, share)).find((one) => contrast(ink, one) >= 4.5) ??
        button);
  const edge = contrast(button, card) >= 3 ? button : untilReadable(button, scheme === 'light' ? 0 : 1, card, 3);
  return { button, hover, ink, edge };
}
