// Counters, gauges and histograms of this process, in the conventions of Prometheus. They belong to the process and not to
// `Deps`, as the log level does: code that counts is handed nothing more, and nothing that Signet decides depends on them.

export type Series = { readonly labels: readonly string[]; readonly values: number[] };

/** All that a scrape says about one name. A histogram's values are its buckets, each by itself, then the sum. */
export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  /** Upper bounds of a histogram's buckets; the last bucket has none. */
  readonly bounds: readonly number[];
  readonly series: readonly Series[];
};

/**
 * Of one name. Labels come from lists in the code, so there are never as many; should one be forgotten that a requester can
 * choose, memory and scrapes stay bounded, and the rest is counted as `other`.
 */
const maxSeries = 2000;

const kept = new Map<string, Family & { readonly series: Series[] }>();

/** Series by their first label, and so on: the texts of labels are found sooner than one that is made of them each time. */
type ByLabel = { values?: number[]; next?: Map<string, ByLabel> };

type Shape = Pick<Family, 'name' | 'help' | 'type' | 'labelNames'> & { bounds?: readonly number[] };

/** @returns what finds the values of a series, which exists from then on. */
function register({ bounds = [], ...shape }: Shape): (labels: readonly string[]) => number[] {
  const family = { ...shape, bounds, series: [] as Series[] };
  const first: ByLabel = {};
  if (kept.has(shape.name)) throw new TypeError(`The metric ${shape.name} is defined twice.`);
  kept.set(shape.name, family);
  const width = shape.type === 'histogram' ? bounds.length + 2 : 1;
  const valuesOf = (labels: readonly string[]): number[] => {
    let found: ByLabel | undefined = first;
    for (const label of labels) found = found?.next?.get(label);
    if (found?.values) return found.values;
    if (family.series.length >= maxSeries && labels.some((label) => label !== 'other')) {
      return valuesOf(labels.map(() => 'other'));
    }
    const series = { labels, values: new Array<number>(width).fill(0) };
    family.series.push(series);
    let node = first;
    for (const label of labels) {
      node.next ??= new Map();
      node = node.next.getOrInsertComputed(label, () => ({}));
    }
    node.values = series.values;
    return series.values;
  };
  if (shape.labelNames.length === 0) valuesOf([]); // from the start, so that its first increase is one
  return valuesOf;
}

type Labels<Names extends readonly string[]> = { readonly [Index in keyof Names]: string };

export function counter<const Names extends readonly string[]>(name: string, help: string, ...labelNames: Names) {
  const valuesOf = register({ name, help, type: 'counter', labelNames });
  return {
    count(...labels: Labels<Names>): void {
      const values = valuesOf(labels);
      values[0]! += 1;
    },
  };
}

/** What rises and falls with the work under way. */
export function gauge<const Names extends readonly string[]>(name: string, help: string, ...labelNames: Names) {
  const valuesOf = register({ name, help, type: 'gauge', labelNames });
  return {
    add(change: number, ...labels: Labels<Names>): void {
      const values = valuesOf(labels);
      values[0]! += change;
    },
  };
}

/** Seconds of a request that the event loop answers. */
export const quickSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Seconds of what waits in a queue or for another system. */
export const slowSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200];

export function histogram<const Names extends readonly string[]>(
  name: string,
  help: string,
  bounds: readonly number[],
  ...labelNames: Names
) {
  const valuesOf = register({ name, help, type: 'histogram', labelNames, bounds });
  return {
    observe(value: number, ...labels: Labels<Names>): void {
      const values = valuesOf(labels);
      let bucket = 0;
      while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1;
      values[bucket]! += 1;
      values[bounds.length + 1]! += value;
    },
  };
}

/** What this process has counted so far, by name. */
export const countedByProcess = (): Family[] =>
  [...kept.values()].sort((one, other) => (one.name < other.name ? -1 : 1));

/** A gauge that is read when it is asked for, instead of being kept. */
export const reading = (
  name: string,
  help: string,
  values: readonly (readonly [value: number | undefined, ...labels: string[]])[],
  ...labelNames: readonly string[]
): Family => ({
  name,
  help,
  type: /_total$/.test(name) ? 'counter' : 'gauge',
  labelNames,
  bounds: [],
  series: values.flatMap(([value, ...labels]) => (value === undefined ? [] : [{ labels, values: [value] }])),
});

/** The same of several processes: equal series are added up. */
export function sumOf(processes: readonly (readonly Family[])[]): Family[] {
  const families = new Map<string, Family & { series: Series[] }>();
  for (const family of processes.flat()) {
    const sum = families.getOrInsertComputed(family.name, () => ({ ...family, series: [] }));
    for (const { labels, values } of family.series) {
      const same = sum.series.find((one) => one.labels.every((label, place) => label === labels[place]));
      if (same) for (const [place, value] of values.entries()) same.values[place]! += value;
      else sum.series.push({ labels, values: [...values] });
    }
  }
  return [...families.values()];
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** The text format of Prometheus. */
export const inTextFormat = (families: readonly Family[]): string =>
  families
    .map((family) => {
      const { name, help, type, series } = family;
      const lines = type === 'histogram' ? series.flatMap((one) => bucketsOf(family, one)) : series.map(lineOf(family));
      return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');

const lineOf =
  ({ name, labelNames }: Family) =>
  ({ labels, values: [value = 0] }: Series) =>
    `${name}${braced(labelNames, labels)} ${value}\n`;

function bucketsOf({ name, labelNames, bounds }: Family, { labels, values }: Series): string[] {
  let count = 0;
  const buckets = [...bounds.map(String), '+Inf'].map((bound, place) => {
    count += values[place] ?? 0;
    return `${name}_bucket${braced([...labelNames, 'le'], [...labels, bound])} ${count}\n`;
  });
  const of = braced(labelNames, labels);
  return [...buckets, `${name}_sum${of} ${values.at(-1)}\n`, `${name}_count${of} ${count}\n`];
}

const braced = (names: readonly string[], labels: readonly string[]): string =>
  names.length === 0
    ? ''
    : `{${names.map((name, place) => `${name}="${escaped(labels[place] ?? '').replaceAll('"', '\\"')}"`).join(',')}}`;

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
