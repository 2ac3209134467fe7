import { visibleText } from '../text/visible-text.ts';
import { type Html, html } from './html.ts';

/**
 * Text from an untrusted source: invisible characters are written out, its direction does not affect the text around it,
 * and its length is limited.
 * @param most characters, after which it is cut.
 */
export const untrusted = (text: string, most?: number): Html => html`<bdi>${visibleText(text, most)}</bdi>`;

/** An address from an untrusted source: to be read, so never a link, and with the host set apart. */
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
