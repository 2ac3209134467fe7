/**
 * Whatever is drawn as nothing, or turns the letters around it: control, format, surrogate, private and unassigned
 * characters, line separators, blank letters. Line breaks are let through; they are spaces on a page.
 */
const unseen = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

/** Every name is checked where it is entered; what is shown may be older than the check, or have come another way. */
export function visibleText(text: string, most = 100): string {
  const seen = text.replace(unseen, (character) => `[U+${hexadecimal(character)}]`);
  const characters = [...seen];
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : seen;
}

const hexadecimal = (character: string) => character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

/** What stands for a logo, since nobody's picture is fetched. */
export const initialsOf = (name: string): string =>
  name
    .replace(unseen, '')
    .split(/[\s\p{P}]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => [...word][0]!.toUpperCase())
    .join('') || '?';
