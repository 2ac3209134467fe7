import { type Html, html } from '../pages/html.ts';

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

/**
 * A text that somebody else has chosen, as data and nothing but: what cannot be seen is written out, its direction
 * touches nothing around it, and it ends.
 * @param most characters, after which it is cut.
 */
export const untrusted = (text: string, most?: number): Html => html`<bdi>${visibleText(text, most)}</bdi>`;

/** An address that somebody else has chosen: to be read, so never a link, and with the host set apart. */
export function untrustedUrl(url: string): Html {
  const [, scheme, host, rest] = /^([A-Za-z][A-Za-z0-9+.-]*:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? [];
  if (!host) return html`<code>${untrusted(url, 2048)}</code>`;
  return html`<code>${untrusted(scheme ?? '')}<strong>${breaking(host, 300)}</strong>${rest && html`<wbr>${breaking(rest, 2048)}`}</code>`;
}

/** A long address goes on in the next line after one of these, and not in the middle of a word if it can be helped. */
const breaking = (text: string, most: number): Html =>
  text.length < 20
    ? untrusted(text, most)
    : html`<bdi>${visibleText(text, most)
        .split(/(?<=[/.-])(?=.)/su)
        .map((part, place) => html`${place > 0 && html`<wbr>`}${part}`)}</bdi>`;

/** What stands for a logo, since nobody's picture is fetched. */
export const initialsOf = (name: string): string =>
  name
    .replace(unseen, '')
    .split(/[\s\p{P}]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => [...word][0]!.toUpperCase())
    .join('') || '?';
