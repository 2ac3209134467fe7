/** Control, format (bidirectional, zero-width, soft hyphen), unassigned characters, line separators, blank letters. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;
/** Line breaks and tabs are let through; they are spaces on a page. */
const hidden = new RegExp(`(?![\\n\\t])(?:${invisible.source})`, 'gu');

/** Names are checked where they are entered; what is shown may be older than the check, or come from elsewhere. */
export function visibleText(text: string, most = 100): string {
  const seen = text.replace(hidden, (character) => `[U+${hexadecimal(character)}]`);
  const characters = [...seen];
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : seen;
}

const hexadecimal = (character: string) => character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

export const clientInitials = (name: string): string =>
  name
    .replace(hidden, '')
    .split(/[\s\p{P}]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => [...word][0]!.toUpperCase())
    .join('') || '?';

const longestName = 100;
const unfit = `Must have 1 to ${longestName} characters, at least one of them visible.`;

/** Users decide by names whom to trust, so a name must look like what it is. @returns what is wrong with it once trimmed. */
export function displayNameProblem(name: string): string | undefined {
  const trimmed = name.trim();
  if (trimmed.length > 2 * longestName) return unfit;
  if (/\p{M}{4}/u.test(trimmed)) return 'Must not have more than three combining marks on a letter.';
  if (invisible.test(trimmed)) return 'Must not contain control, invisible or text-direction characters.';
  return !/[\p{L}\p{N}\p{P}\p{S}]/u.test(trimmed) || [...trimmed].length > longestName ? unfit : undefined;
}

/** As it is stored. @param name without a {@link displayNameProblem}: normalizing takes quadratic time in its length. */
export const normalizeName = (name: string): string => name.trim().normalize('NFC');

/**
 * Levenshtein distance. Only the cells within `most` of the diagonal are computed (Ukkonen).
 * @param most beyond which the exact number does not matter: anything higher may be returned.
 */
export function editDistance(from: string, to: string, most = Number.POSITIVE_INFINITY): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const first = Math.max(1, row + 1 - most);
    const last = Math.min(to.length, row + 1 + most);
    const current: number[] = Array(to.length + 1).fill(Number.POSITIVE_INFINITY);
    current[0] = row + 1;
    for (let column = first; column <= last; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (to[column - 1] === letter ? 0 : 1);
      current[column] = Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
    }
    const least = Math.min(...current); // no later row goes below it
    if (least > most) return least;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
