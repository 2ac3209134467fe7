import type { Parameters } from '../http/parameters.ts';
import { type Html, html } from './html.ts';

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

/** What an empty list is for, and where to go from there. */
export const emptyList = (text: Html, next?: { path: string; label: Html }): Html =>
  html`<div class="empty"><p>${text}</p>${next && html`<p><a href="${next.path}">${next.label}</a></p>`}</div>`;

export const itemsOr = (items: readonly Html[], none: Html): Html =>
  items.length === 0 ? emptyList(none) : html`<ul class="items">${items}</ul>`;

/** To the next page of a list, or to all of it. */
export const moreLink = (id: string, path: string, text: Html): Html =>
  html`<p class="actions"><a class="button quiet" id="${id}" href="${path}">${text}</a></p>`;
