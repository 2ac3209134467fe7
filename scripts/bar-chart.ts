/** Bars in groups, from zero. Every bar bears its value, so that no axis has to be read and no color told apart. */
export type Chart = {
  title: string;
  /** What the values are, and which of them are better. */
  unit: string;
  groups: {
    label: string;
    bars: { series: string; value: number; text: string }[];
    target?: { least: number } | { most: number };
  }[];
};

const width = 600;
const left = 16;
/** Leaves room for the text behind the longest bar. */
const plotWidth = 430;
const barHeight = 16;
const labelHeight = 22;
const groupGap = 12;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const rounded = (value: number) => Math.round(value * 10) / 10;

/** @returns an SVG with its own background, in the colors of the reader's system, since a page shows it as an image. */
export function drawChart({ title, unit, groups }: Chart): string {
  const targetOf = ({ target }: Chart['groups'][number]) => target && ('least' in target ? target.least : target.most);
  const values = groups.flatMap((group) => [...group.bars.map(({ value }) => value), targetOf(group) ?? 0]);
  const step = stepFor(Math.max(...values, 0));
  const end = Math.max(step, Math.ceil(Math.max(...values, 0) / step) * step);
  const x = (value: number) => rounded(left + (value / end) * plotWidth);
  const top = 44;

  let y = top;
  const drawn = groups.map((group) => {
    const target = targetOf(group);
    const labelled = `<text x="${left}" y="${y + 15}">${escaped(group.label)}${verdict(group)}</text>`;
    const firstBar = y + labelHeight;
    const bars = group.bars.flatMap(({ series, value, text }, at) => {
      const barTop = firstBar + at * barHeight;
      return [
        `<rect class="${series}" x="${left}" y="${barTop}" width="${rounded(x(value) - left)}" height="${barHeight - 3}"/>`,
        `<text x="${textStart(x(value), target === undefined ? undefined : x(target))}" y="${barTop + 11}">${escaped(text)}</text>`,
      ];
    });
    const lastBar = firstBar + group.bars.length * barHeight;
    const mark =
      target === undefined ? [] : [`<path class="target" d="M${x(target)} ${firstBar - 4}V${lastBar + 1}"/>`];
    y = lastBar + groupGap;
    return [labelled, ...bars, ...mark].join('\n');
  });
  const bottom = y;
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, at) => at * step);
  const grid = ticks.map(
    (tick) =>
      `<path class="grid" d="M${x(tick)} ${top}V${bottom}"/><text class="tick" x="${x(tick)}" y="${bottom + 16}">${tickText(tick, step)}</text>`,
  );
  const height = bottom + 44;
  const description = groups
    .map(({ label, bars }) => `${label}: ${bars.map(({ text }) => text).join(', ')}`)
    .join('. ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(`${unit}. ${description}.`)}</desc>
<style>
${style}
</style>
<rect class="ground" width="${width}" height="${height}"/>
<text class="title" x="${left}" y="26">${escaped(title)}</text>
${grid.join('\n')}
${drawn.join('\n')}
<text class="unit" x="${left}" y="${bottom + 34}">${escaped(unit)}</text>
</svg>
`;
}

/** Behind the bar, and behind the mark of the target where it would be crossed by that. */
const textStart = (barEnd: number, mark: number | undefined): number =>
  rounded((mark !== undefined && mark >= barEnd && mark < barEnd + 70 ? mark : barEnd) + 6);

function verdict({ target, bars }: Chart['groups'][number]): string {
  if (!target) return '';
  const [word, bound] = 'least' in target ? ['at least', target.least] : ['at most', target.most];
  const isReached = bars.every(({ value }) => ('least' in target ? value >= bound : value <= bound));
  return ` <tspan class="${isReached ? 'reached' : 'missed'}">(target: ${word} ${bound}${isReached ? '' : ', not reached'})</tspan>`;
}

/** A step of 1, 2 or 5, so that there are at most six ticks behind zero. */
function stepFor(largest: number): number {
  if (largest <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(largest));
  return [0.1, 0.2, 0.5, 1, 2].map((factor) => factor * magnitude).find((step) => largest / step <= 6) ?? magnitude * 5;
}

const tickText = (tick: number, step: number): string =>
  tick.toFixed(Math.max(0, -Math.floor(Math.log10(step)))).replace(/\B(?=(\d{3})+(?!\d))/g, ' ');

const style = `text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; font-size: 15px; }
.unit, .tick, .reached { fill: #57606a; }
.tick { text-anchor: middle; font-size: 12px; }
.missed { fill: #b3261e; font-weight: 600; }
.ground { fill: #ffffff; }
.grid { stroke: #d8dee4; }
.target { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 4 2; }
rect { fill: #6e7781; }
.signet { fill: #0969da; }
.floor { fill: #9a6700; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.unit, .tick, .reached { fill: #9ea7b3; }
.missed { fill: #ff8a80; }
.ground { fill: #0d1117; }
.grid { stroke: #30363d; }
.target { stroke: #e6edf3; }
rect { fill: #8b949e; }
.signet { fill: #58a6ff; }
.floor { fill: #d29922; }
}`;
