/** Markup that is safe to send. Only {@link html} makes one, so a plain string always ends up escaped. */
export class Html {
  readonly #markup: string;
  private constructor(markup: string) {
    this.#markup = markup;
  }
  toString(): string {
    return this.#markup;
  }
  /** For markup that we wrote ourselves: files of this repository, output of a library that makes SVG. */
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
