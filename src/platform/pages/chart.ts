import { dateFormat, numberFormat } from '../i18n/formats.ts';
import type { MessageKey } from '../i18n/translate.ts';
import { type Html, html } from './html.ts';
import type { View } from './view.ts';

/** A number, and what it was in the period before; undefined where that is not known. */
type Change = { readonly now: number; readonly before: number | undefined };

/** A count for each day, oldest first; `firstDay` as days since 1970 in UTC. */
type Days = { readonly firstDay: number; readonly counts: readonly number[]; readonly change: Change };

/** More bars than days of a month are too thin to point at, and the days of a week differ more than the weeks. */
const maxBarsOfDays = 31;

type Bar = { readonly firstDay: number; readonly count: number };

/** Days, or whole weeks until today; what is left of the first one is in the first bar, if it is not a bar of its own. */
function barsOf({ firstDay, counts }: Days): Bar[] {
  if (counts.length <= maxBarsOfDays) return counts.map((count, place) => ({ firstDay: firstDay + place, count }));
  const weeks = Math.round(counts.length / 7);
  return Array.from({ length: weeks }, (_, week) => {
    const from = week === 0 ? 0 : counts.length - (weeks - week) * 7;
    const count = counts.slice(from, counts.length - (weeks - week - 1) * 7).reduce((sum, one) => sum + one, 0);
    return { firstDay: firstDay + from, count };
  });
}

const dayMs = 86_400_000;
/** In units of the drawing, which is stretched to the room that there is. */
const [slot, bar, height] = [10, 7, 100];

/**
 * Bars, one for each day or week, drawn on the server; the same numbers are in a table, for who cannot see them or point at them.
 * @param tone `bad`: for what should not happen.
 */
export function dayChart(view: View, titleKey: MessageKey, days: Days, tone: 'plain' | 'bad' = 'plain'): Html {
  const title = view.t(titleKey);
  const all = barsOf(days);
  const unit = all.length < days.counts.length ? 'week' : 'day';
  const total = all.reduce((sum, { count }) => sum + count, 0);
  const number = numberFormat(view.region);
  const caption = html`<figcaption><strong>${number.format(total)}</strong> ${title}</figcaption>
<p class="change">${changeWords(view, days.change, 'before', days.counts.length)}</p>`;
  if (total === 0) return html`<figure class="chart">${caption}<p class="soft">${view.t('chart.none')}</p></figure>\n`;
  const max = Math.max(...all.map(({ count }) => count));
  const isOfOneYear = days.counts.length < 300;
  const format = dateFormat(view.region, {
    day: 'numeric',
    month: 'short',
    ...(isOfOneYear ? {} : { year: 'numeric' }),
    timeZone: 'UTC',
  });
  const bars = all.map(({ firstDay, count }) => ({ from: format.format(firstDay * dayMs), count }));
  const description = view.t(`chart.description.${unit}`, {
    what: title,
    total: number.format(total),
    max: number.format(max),
    day: bars.find(({ count }) => count === max)!.from,
  });
  const rectangles = bars.map(({ from, count }, place) => {
    if (count === 0) return false; // the line below the bars shows that there is none
    const drawn = Math.max(3, Math.round((count / max) * height));
    return html`<rect x="${place * slot + (slot - bar) / 2}" y="${height - drawn}" width="${bar}" height="${drawn}"><title>${view.t(`chart.bar.${unit}`, { day: from, count: number.format(count) })}</title></rect>`;
  });
  const rows = bars.map(
    ({ from, count }) => html`<tr><th scope="row">${from}</th><td>${number.format(count)}</td></tr>\n`,
  );
  const last = format.format((days.firstDay + days.counts.length - 1) * dayMs);
  return html`<figure class="chart${tone === 'bad' && html` bad`}">${caption}
<svg viewBox="0 0 ${bars.length * slot} ${height}" preserveAspectRatio="none" role="img" aria-label="${description}">${rectangles}</svg>
<p class="axis" aria-hidden="true"><span>${bars[0]!.from}</span><span>${view.t(`chart.max.${unit}`, { max: number.format(max) })}</span><span>${last}</span></p>
<details><summary aria-label="${view.t('chart.table.of', { what: title })}">${view.t('chart.table')}</summary>
<table><thead><tr><th scope="col">${view.t(`chart.${unit}`)}</th><th scope="col">${title}</th></tr></thead>
<tbody>${rows.reverse()}</tbody></table></details></figure>
`;
}

/** @param since `before`: of a count, with the period before; `ago`: of a state, with that of then. */
function changeWords(view: View, { now, before }: Change, since: 'before' | 'ago', days: number): Html {
  if (before === undefined) return view.t('chart.change.unknown');
  if (now === before) return view.t(`chart.change.${since}.same`, { days });
  if (before === 0) return view.t(`chart.change.${since}.none`, { days });
  const ratio = now / before - 1;
  const percent = numberFormat(view.region, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: Math.abs(ratio) < 0.1 ? 1 : 0,
  }).format(ratio);
  return view.t(`chart.change.${since}`, { percent, before: numberFormat(view.region).format(before), days });
}

/** `before`: as a fraction, when the period began. */
type Share = { readonly part: number; readonly whole: number; readonly before: number | undefined };

/** A change of a share is given in points: percent of a percentage would be taken for them. */
function pointsInWords(view: View, { part, whole, before }: Share, days: number): Html {
  if (before === undefined) return view.t('chart.change.unknown');
  const format = numberFormat(view.region, { signDisplay: 'exceptZero', maximumFractionDigits: 1 });
  const points = Math.round((part / whole - before) * 1000) / 10;
  return points === 0
    ? view.t('chart.change.points.same', { days })
    : view.t('chart.change.points', { points: format.format(points), days });
}

const shareFigure = (view: View, { share, label, days }: { share: Share; label: Html; days: number }): Html => {
  const number = numberFormat(view.region);
  const percent = numberFormat(view.region, { style: 'percent', maximumFractionDigits: 0 });
  const of = view.t('chart.share', { part: number.format(share.part), whole: number.format(share.whole) });
  return html`<div><dt>${label}</dt><dd>${percent.format(share.part / share.whole)}</dd><dd class="change">${of}; ${pointsInWords(view, share, days)}</dd></div>\n`;
};

/** Numbers with what they count, and shares. */
export const figures = (
  view: View,
  all: readonly { change: Change; label: Html; days: number }[],
  shares: readonly { share: Share; label: Html; days: number }[] = [],
): Html =>
  html`<dl class="figures">${all.map(
    ({ change, label, days }) =>
      html`<div><dt>${label}</dt><dd>${numberFormat(view.region).format(change.now)}</dd><dd class="change">${changeWords(view, change, 'ago', days)}</dd></div>\n`,
  )}${shares.map((one) => shareFigure(view, one))}</dl>`;

type Shown = { readonly days: number; readonly countedSince: number | undefined };

/** Links to the page with other charts, and what there is to know of these. It has the id `numbers`. */
export const periodLinks = (
  view: View,
  path: string,
  { days, countedSince }: Shown,
  periods: readonly number[],
): Html => html`<nav id="numbers" aria-label="${view.t('chart.period')}"><p class="actions">${periods.map(
  (one) =>
    html`<a href="${path}?days=${one}#numbers"${one === days && html` aria-current="page"`}>${view.t('chart.period.days', { days: one })}</a>\n`,
)}</p></nav>
<p class="soft">${view.t('chart.change.what')}${countedSince !== undefined && html` <span id="counted-since">${view.t('chart.counted_since', { day: dateFormat(view.region, { dateStyle: 'long', timeZone: 'UTC' }).format(countedSince * dayMs) })}</span>`}</p>
`;
