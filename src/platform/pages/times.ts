import { isInCalendar } from '../clock.ts';
import { type Html, html } from './html.ts';

/**
 * A time that says more to who points at it: the exact one in UTC, and by `local-times.js` that of the reader.
 * @param at Unix seconds; a stored one may be beyond the calendar.
 * @param kind what the script replaces the text with; nothing if left out.
 */
export function timeElement(at: number, text: string | undefined, kind?: 'day' | 'exact'): Html {
  if (!isInCalendar(at)) return html`${text ?? at}`;
  const iso = new Date(at * 1000).toISOString();
  const exact = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return html`<time datetime="${iso}" title="${exact}"${kind && html` data-time="${kind}"`}>${text ?? exact}</time>`;
}

/** A moment to the second, as one compares it with a log elsewhere. @param at Unix seconds. */
export const exactTime = (at: number): Html => timeElement(at, undefined, 'exact');
