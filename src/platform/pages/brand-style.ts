import { type BrandSettings, fonts } from './brand.ts';
import { accentOn, backgrounds, buttonOn, inkOn, type Scheme, softInkOn } from './colours.ts';

type Style = Pick<BrandSettings, 'button_dark' | 'link_dark' | 'background' | 'background_dark' | 'radius' | 'font'> & {
  button: string;
  link: string;
};

/** The colour of links and lines on each scheme, made readable on the backgrounds where that is hardest. */
export const linkOn = (style: Pick<Style, 'link' | 'link_dark'>, scheme: Scheme) =>
  scheme === 'light'
    ? accentOn(style.link, backgrounds.light.page)
    : accentOn(style.link_dark ?? style.link, backgrounds.dark.card);

export const buttonOf = (style: Pick<Style, 'button' | 'button_dark'>, scheme: Scheme) =>
  buttonOn((scheme === 'dark' && style.button_dark) || style.button, scheme);

/** Properties of both schemes: what pages of ours are drawn with, so that no page needs an inline style. */
export function brandStyle(style: Style, inDark = '@media (prefers-color-scheme:dark)'): string {
  const both = `--radius:${style.radius}px;--font:${fonts[style.font]}`;
  return `:root{${both};${properties(style, 'light')}}${inDark}{:root{${properties(style, 'dark')}}}\n`;
}

function properties(style: Style, scheme: Scheme): string {
  const { accent, hover } = linkOn(style, scheme);
  const button = buttonOf(style, scheme);
  return Object.entries({
    accent,
    'accent-hover': hover,
    // What is drawn on the colour of links: initials, marks in lists.
    'accent-ink': inkOn(accent),
    button: button.button,
    'button-hover': button.hover,
    'button-ink': button.ink,
    'button-edge': button.edge,
    ...outside(scheme === 'light' ? style.background : style.background_dark, scheme),
  })
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');
}

/**
 * Of what stands outside of the card of a sign-in: its links are known by their underline. A background that was chosen for light
 * would glare in the dark, so there it is the built-in one unless another was chosen.
 */
function outside(background: string | null, scheme: Scheme): Readonly<Record<string, string>> {
  if (background !== null) {
    const ink = inkOn(background);
    return { outside: background, 'outside-ink': ink, 'outside-soft': softInkOn(background), 'outside-link': ink };
  }
  return scheme === 'light'
    ? {}
    : {
        outside: 'var(--paper)',
        'outside-ink': 'var(--ink)',
        'outside-soft': 'var(--soft)',
        'outside-link': 'var(--accent)',
      };
}
