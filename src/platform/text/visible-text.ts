/**
 * Characters that are drawn as nothing or turn the letters around them: control, format (bidirectional overrides,
 * zero-width, soft hyphen), surrogate, private and unassigned characters, line separators, blank letters.
 */
export const invisible = /[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;
/** Line breaks and tabs are let through; they are spaces on a page. */
const hidden = new RegExp(`(?![\\n\\t])(?:${invisible.source})`, 'gu');

/** Every name is checked where it is entered; what is shown may be older than the check, or have come another way. */
export function visibleText(text: string, most = 100): string {
  const seen = text.replace(hidden, (character) => `[U+${hexadecimal(character)}]`);
  const characters = [...seen];
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : seen;
}

const hexadecimal = (character: string) => character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

/** Shown in place of a logo, since no picture is fetched. */
export const clientInitials = (name: string): string =>
  name
    .replace(hidden, '')
    .split(/[\s\p{P}]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => [...word][0]!.toUpperCase())
    .join('') || '?';
