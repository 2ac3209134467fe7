import { visibleText } from '../text.ts';

/** Markup that is safe to send. Only {@link html} makes one, so a plain string always ends up escaped. */
export class Html {
  readonly #markup: string;
  private constructor(markup: string) {
    this.#markup = markup;
  }
  toString(): string {
    return this.#markup;
  }
  /** For files of this repository, and the output of a library that makes SVG. */
  static trusted(markup: string): Html {
    return new Html(markup);
  }
}

export type Renderable = Html | string | number | null | undefined | false | readonly Renderable[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeText = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!);

function render(value: Renderable): string {
  if (value instanceof Html) return value.toString();
  if (value === null || value === undefined || value === false) return '';
  if (Array.isArray(value)) return value.map(render).join('');
  return escapeText(String(value));
}

/** Every value is escaped, for text and for quoted attributes, unless it is Html itself. */
export const html = (strings: TemplateStringsArray, ...values: Renderable[]): Html =>
  Html.trusted(strings.reduce((markup, string, index) => markup + render(values[index - 1]) + string));

/** Invisible characters are written out, the direction does not affect other text. @param max characters. */
export const untrusted = (text: string, max?: number): Html => html`<bdi>${visibleText(text, max)}</bdi>`;

/**
 * To be read, so never a link, and with what decides who receives it set apart: the host, or a scheme that leads to an app
 * whatever looks like a host behind it.
 */
export function untrustedUrl(url: string): Html {
  const [, before = '', decisive, rest = ''] =
    /^(https?:\/\/)([^/?#]+)(.*)$/is.exec(url) ?? /^()((?!https?:)[a-z][a-z0-9+.-]*:)(\/.*)$/is.exec(url) ?? [];
  if (decisive === undefined) return html`<code>${untrusted(url, 2048)}</code>`;
  return html`<code>${before && untrusted(before)}<strong>${breaking(decisive, 300)}</strong>${rest && html`<wbr>${breaking(rest, 2048)}`}</code>`;
}

/** Private-use schemes need one slash only. */
export const looksLikeUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\//i.test(text);

/** A mail address, which wraps before its domain or after a dot but the last; one that fits on a line of a phone does not. */
export const untrustedEmail = (email: string): Html =>
  email.length < 28 ? untrusted(email) : breaking(email, 254, /(?=@)|(?<=\.)(?=.*\.)/su);

/** A mail address set apart from the sentence that it is in. */
export const namedEmail = (email: string): Html => html`<strong>${untrustedEmail(email)}</strong>`;

/** An IPv4 address never wraps: half of one reads like another. One of IPv6 wraps after a colon. */
export const ipAddress = (address: string): Html =>
  /^[\d.]{7,15}$/.test(address) ? html`<bdi class="ip">${address}</bdi>` : breaking(address, 64, /(?<=:)(?=[^:])/su);

/** Lets a long text, such as a URL, wrap after punctuation. */
const breaking = (text: string, max: number, at = /(?<=[/.-])(?=.)/su): Html =>
  text.length < 20
    ? untrusted(text, max)
    : html`<bdi>${visibleText(text, max)
        .split(at)
        .map((part, place) => html`${place > 0 && html`<wbr>`}${part}`)}</bdi>`;
