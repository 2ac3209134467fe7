import type { Parameters } from '../http/parameters.ts';
import { ownFields } from './form.ts';
import { html } from './html.ts';

const escaped = (text: string): string => html`${text}`.toString();

/**
 * The form of a page as it was typed before a sign-in interrupted it. Hidden fields and those that are read-only stay those of
 * the page, and passwords empty.
 * @param markup of a page, as `html` writes it.
 * @param path where the form posts to.
 * @returns the page with the form filled in, its `details` open, and `id="kept"`; undefined if it has no such form.
 */
export function refill(markup: string, path: string, typed: Parameters): string | undefined {
  const forms = [...markup.matchAll(/<form method="post" action="([^"]*)"[^>]*>/g)]
    .filter(([, action]) => action === escaped(path))
    .map(({ 0: tag, index }) => ({ tag, from: index, to: markup.indexOf('</form>', index) }));
  const chosen = forms.filter(({ from, to }) => isOf(markup.slice(from, to), typed));
  const [form] = chosen.length > 0 ? chosen : forms.length === 1 ? forms : [];
  if (!form) return undefined;
  const { tag, from, to } = form;
  const filled = fill(markup.slice(from + tag.length, to), typed);
  return `${openDetails(markup.slice(0, from))}${tag.replace('<form', '<form id="kept"')}${filled}${markup.slice(to)}`;
}

const attribute = (tag: string, name: string): string | undefined => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];

const typedIn = (typed: Parameters, tag: string): string => escaped(typed[attribute(tag, 'name') ?? ''] ?? '');

/** Of several forms that post to one path, each is of something else, which its hidden fields name. */
const isOf = (form: string, typed: Parameters): boolean =>
  [...form.matchAll(/<input type="hidden"[^>]*>/g)].every(
    ([tag]) => ownFields.includes(attribute(tag, 'name')!) || attribute(tag, 'value') === typedIn(typed, tag),
  );

const fill = (form: string, typed: Parameters): string =>
  form
    .replace(/(<textarea\b[^>]*>)[^<]*(?=<\/textarea>)/g, (_, tag: string) => `${tag}\n${typedIn(typed, tag)}`)
    .replace(/(<select\b[^>]*>)|(<option\b[^>]*>)([^<]*)/g, chooseOptions(typed))
    .replace(/<input\b[^>]*>/g, (tag) => {
      const type = attribute(tag, 'type') ?? 'text';
      if (type === 'hidden' || type === 'password' || isReadOnly(tag)) return tag;
      if (type === 'checkbox' || type === 'radio')
        return marked(tag, 'checked', typedIn(typed, tag) === (attribute(tag, 'value') ?? 'on'));
      return tag.replace(/\svalue="[^"]*"|>$/g, '').concat(` value="${typedIn(typed, tag)}">`);
    });

const isReadOnly = (tag: string): boolean => / readonly\b/.test(tag.replace(/"[^"]*"/g, ''));

function chooseOptions(typed: Parameters) {
  let chosen = '';
  return (found: string, select: string | undefined, option: string, text: string) => {
    if (select === undefined)
      return `${marked(option, 'selected', (attribute(option, 'value') ?? text.trim()) === chosen)}${text}`;
    chosen = typedIn(typed, select);
    return found;
  };
}

/** With or without an attribute that has no value. */
const marked = (tag: string, name: 'checked' | 'selected', isMarked: boolean): string =>
  tag.replace(new RegExp(`\\s${name}(?=[\\s>])`), '').replace(/>$/, isMarked ? ` ${name}>` : '>');

function openDetails(before: string): string {
  const closed: number[] = [];
  for (const { 0: tag, index } of before.matchAll(/<details\b|<\/details>/g)) {
    if (tag === '</details>') closed.pop();
    else closed.push(index + tag.length);
  }
  return closed.reduceRight(
    (text, at) => (text.startsWith(' open', at) ? text : `${text.slice(0, at)} open${text.slice(at)}`),
    before,
  );
}
