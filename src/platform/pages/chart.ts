import { dateFormat, numberFormat } from '../i18n/formats.ts';
import type { MessageKey } from '../i18n/translate.ts';
import { type Html, html } from './html.ts';
import type { View } from './view.ts';

/** A count for each day, oldest first; `firstDay` as days since 1970 in UTC. */
type Days = { readonly firstDay: number; readonly counts: readonly number[] };

const dayMs = 86_400_000;
/** In units of the drawing, which is stretched to the room that there is. */
const [slot, bar, height] = [10, 7, 100];

/**
 * Bars, one for each day, drawn on the server; the same numbers are in a table, for who cannot see them or point at them.
 * @param tone `bad`: for what should not happen.
 */
export function dayChart(
  view: View,
  titleKey: MessageKey,
  { firstDay, counts }: Days,
  tone: 'plain' | 'bad' = 'plain',
): Html {
  const title = view.t(titleKey);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const number = numberFormat(view.region);
  const caption = html`<figcaption><strong>${number.format(total)}</strong> ${title}</figcaption>`;
  if (total === 0) return html`<figure class="chart">${caption}<p class="soft">${view.t('chart.none')}</p></figure>\n`;
  const max = Math.max(...counts);
  const format = dateFormat(view.region, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const days = counts.map((_, place) => format.format((firstDay + place) * dayMs));
  const description = view.t('chart.description', {
    what: title,
    total: number.format(total),
    max: number.format(max),
    day: days[counts.indexOf(max)],
  });
  const bars = counts.map((count, place) => {
    if (count === 0) return false; // the line below the bars shows that there is none
    const drawn = Math.max(3, Math.round((count / max) * height));
    return html`<rect x="${place * slot + (slot - bar) / 2}" y="${height - drawn}" width="${bar}" height="${drawn}"><title>${days[place]}: ${number.format(count)}</title></rect>`;
  });
  const rows = counts.map(
    (count, place) => html`<tr><th scope="row">${days[place]}</th><td>${number.format(count)}</td></tr>\n`,
  );
  return html`<figure class="chart${tone === 'bad' && html` bad`}">${caption}
<svg viewBox="0 0 ${counts.length * slot} ${height}" preserveAspectRatio="none" role="img" aria-label="${description}">${bars}</svg>
<p class="axis" aria-hidden="true"><span>${days[0]}</span><span>${view.t('chart.max', { max: number.format(max) })}</span><span>${days.at(-1)}</span></p>
<details><summary aria-label="${view.t('chart.table.of', { what: title })}">${view.t('chart.table')}</summary>
<table><thead><tr><th scope="col">${view.t('chart.day')}</th><th scope="col">${title}</th></tr></thead>
<tbody>${rows.reverse()}</tbody></table></details></figure>
`;
}

/** Numbers with what they count. */
export const figures = (view: View, all: readonly { count: number; label: Html }[]): Html => {
  const number = numberFormat(view.region);
  return html`<dl class="figures">${all.map(
    ({ count, label }) => html`<div><dt>${label}</dt><dd>${number.format(count)}</dd></div>\n`,
  )}</dl>`;
};
