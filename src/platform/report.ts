import { AsyncLocalStorage } from 'node:async_hooks';
import { isInCalendar } from './clock.ts';
import type { RequestError } from './errors.ts';
import { displayWidth, fitColumns, gap, widestOf } from './fit-columns.ts';
import { visibleText } from './text.ts';

/**
 * The output of a command: `json` for machines, `text` for people. `failed` makes the exit code 1; `absent` names the parts of the store
 * that it is without, and makes it 3.
 */
export type Report = { json: unknown; text: string; failed?: boolean; absent?: readonly string[] };

export const shownOnce = (fields: Record<string, string>): string =>
  `${table(Object.entries(fields))}\n\nStore the secret now: it cannot be shown again.`;

/** A list is shown as its items with spaces between them, and nothing as a dash. */
type Cell = string | number | null | readonly string[];

function cellText(cell: Cell): string {
  const text = typeof cell === 'object' ? (cell ?? []).join(' ') || '-' : String(cell);
  return visibleText(text.replaceAll(/[\n\t]+/g, ' '), 10_000);
}

/**
 * What {@link table} and {@link list} write for a terminal. Without it, as for a pipe, they write everything, in no color.
 * It is of the running command: what makes the texts need not hand it on.
 */
export const terminalLayout = new AsyncLocalStorage<{ readonly columns?: number; readonly colors: boolean }>();

/** Labels and values. Cells may hold untrusted text: no control characters, no line breaks. */
export function table(cells: readonly (readonly Cell[])[]): string {
  const rows = cells.map((row) => row.map(cellText));
  return lines(rows, widestOf(rows), ([label = '']) => label);
}

/** Rows below headings. They fit the terminal, as {@link fitColumns} says; ids are never shortened, since they are typed again. */
export function list(cells: readonly (readonly Cell[])[]): string {
  const all = cells.map((row) => row.map(cellText));
  const { columns } = terminalLayout.getStore() ?? {};
  if (columns === undefined) return lines(all, widestOf(all), (_, column) => all[0]?.[column]);
  if (all.length === 1) return 'No entries.';
  const { rows, widths, same, leftOut } = fitColumns(all, columns);
  const text = lines(rows, widths, (_, column) => rows[0]?.[column], displayWidth);
  const notes = [
    same.length > 0 && ['The same in every row:', ...same].join(`\n${gap}`),
    leftOut.length > 0 && `Not shown, for lack of width: ${leftOut.join(', ')}. Everything: --wide`,
  ];
  return [text, ...notes].filter(Boolean).join('\n\n');
}

function lines(
  rows: readonly (readonly string[])[],
  widths: readonly number[],
  labelOf: (row: readonly string[], column: number) => string | undefined,
  widthOf = (text: string) => text.length,
): string {
  const padding = (cell: string, width = 0) => ' '.repeat(Math.max(0, width - widthOf(cell)));
  return rows
    .map((row) => row.map((cell, column) => gap + inColor(labelOf(row, column), cell) + padding(cell, widths[column])))
    .map((cells) => cells.join('').trimEnd())
    .join('\n');
}

const green = 32;
const yellow = 33;
const red = 31;
const dim = 2;
const colorOf: ReadonlyMap<string, number> = new Map([
  ...['active', 'approved', 'enabled', 'on', 'delivered', 'ok'].map((state) => [state, green] as const),
  ...['pending_review', 'waiting', 'next', 'retiring', 'past_due', 'warning'].map((state) => [state, yellow] as const),
  ...['rejected', 'suspended', 'disabled', 'dead', 'problem'].map((state) => [state, red] as const),
  ...['retired', 'expired', 'canceled', 'off', 'skipped'].map((state) => [state, dim] as const),
]);

/** A state, by its first word, also a shortened one; any other cell as it is. */
function inColor(label: string | undefined, cell: string): string {
  if (!terminalLayout.getStore()?.colors || !/^(?:status|state)$/i.test(label ?? '')) return cell;
  const [word = ''] = /^\w*/.exec(cell) ?? [];
  const whole = cell === `${word}…` ? [...colorOf.keys()].find((state) => state.startsWith(word)) : word;
  const color = colorOf.get(whole ?? '');
  return color === undefined ? cell : `\u001b[${color}m${cell}\u001b[0m`;
}

/** A state outside of {@link table} and {@link list}, in the color that it has there. */
export const stateInColor = (state: string): string => inColor('state', state);

export function time(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '-';
  return isInCalendar(seconds) ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z') : String(seconds);
}

/** @returns the message of a refusal, followed by one line for each field with a problem. */
export const refusalText = ({ message, problems }: RequestError): string =>
  [message, ...problems.map(({ path, message }) => `  ${path}: ${message}`)].join('\n');
