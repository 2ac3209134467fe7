import type { Parameters } from '../http/parameters.ts';
import { numberFormat } from '../i18n/formats.ts';
import { type Html, html } from './html.ts';
import type { View } from './view.ts';

// What pages with lists have in common.

export { exactTime } from './times.ts';

export type Tone = 'good' | 'off' | 'warn';
const classOf: Readonly<Record<Tone, string>> = { good: 'badge', off: 'badge off', warn: 'badge warn' };
export const badge = (text: Html, tone: Tone = 'good'): Html => html`<span class="${classOf[tone]}">${text}</span>`;

/** The path with those parameters that have a value. */
export function pathWith(path: string, query: Parameters): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** A number that was counted up to one more than `most`, so that it costs the same in any store: `1,000+` for all above. */
export const counted = (view: View, count: number, most: number): string =>
  `${numberFormat(view.region).format(Math.min(count, most))}${count > most ? '+' : ''}`;

/** What an empty list is for, and where to go from there. */
export const emptyList = (text: Html, next?: { path: string; label: Html }): Html =>
  html`<div class="empty"><p>${text}</p>${next && html`<p><a href="${next.path}">${next.label}</a></p>`}</div>`;

export const itemsOr = (items: readonly Html[], none: Html): Html =>
  items.length === 0 ? emptyList(none) : html`<ul class="items">${items}</ul>`;

/** To all of a list. */
export const moreLink = (id: string, path: string, text: Html): Html =>
  html`<p class="actions"><a class="button quiet" id="${id}" href="${path}">${text}</a></p>`;

type Pager = {
  /** The `id` of the link to the next page. */
  id: string;
  /** The cursor of the next page, if there is one. */
  next: string | null | undefined;
  /** What the next page has: "Older events". */
  label: Html;
  /** The parameter that has the cursor. */
  cursor?: 'after' | 'before';
  /** A page of the list. @param at its cursor and trail. */
  pathTo(at: Parameters): string;
};

/** Characters; of a longer trail the first pages are left out, and from where it ends one returns to the first page. */
const longestTrail = 1200;
/** On a trail, the first page: it has no cursor. */
const firstPage = '-';

/**
 * To the next page of a list, and back. Cursors lead forwards only, so the address of a page has a trail: the cursors of the pages
 * by which the reader has come.
 */
export function pager(view: View, { id, next, label, cursor = 'after', pathTo }: Pager): Html | false {
  const here = new URLSearchParams(view.query);
  const at = here.get(cursor) ?? '';
  const trail = at === '' ? [] : (here.get('trail') ?? '').split('~').filter((one) => /^[\w.-]+$/.test(one));
  const last = trail.at(-1);
  const back =
    at !== '' &&
    (last === undefined
      ? html`<a class="button quiet" id="page-first" href="${pathTo({})}">${view.t('lists.first')}</a>\n`
      : html`<a class="button quiet" id="page-previous" href="${pathTo({
          [cursor]: last === firstPage ? undefined : last,
          trail: trail.slice(0, -1).join('~'),
        })}">${view.t('lists.previous')}</a>\n`);
  if (!back && !next) return false;
  const further = [...trail, at === '' ? firstPage : at];
  while (further.join('~').length > longestTrail) further.shift();
  return html`<nav class="actions" aria-label="${view.plain('lists.pages')}">${back}${
    next &&
    html`<a class="button quiet" id="${id}" href="${pathTo({ [cursor]: next, trail: further.join('~') })}">${label}</a>`
  }</nav>`;
}
