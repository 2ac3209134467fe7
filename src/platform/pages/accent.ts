/** A colour as red, green and blue from 0 to 255. */
type Colour = readonly [number, number, number];

/** The colours that one accent becomes on light paper or on dark, as `#rrggbb`. */
export type AccentColours = {
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
