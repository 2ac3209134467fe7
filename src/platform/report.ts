import { isInCalendar } from './clock.ts';
import type { RequestError } from './errors.ts';
import { visibleText } from './text.ts';

/** The output of a command: `json` for machines, `text` for people. `failed` makes the exit code 1. */
export type Report = { json: unknown; text: string; failed?: boolean };

export const shownOnce = (fields: Record<string, string>): string =>
  `${table(Object.entries(fields))}\n\nStore the secret now: it cannot be shown again.`;

/** Of a list the items with spaces between them; of nothing a dash. */
type Cell = string | number | null | readonly string[];

function cellText(cell: Cell): string {
  const text = typeof cell === 'object' ? (cell ?? []).join(' ') || '-' : String(cell);
  return visibleText(text.replaceAll(/[\n\t]+/g, ' '), 10_000);
}

/** Columns, each as wide as its widest cell. Cells may hold untrusted text: no control characters, no line breaks. */
export function table(cells: readonly (readonly Cell[])[]): string {
  const rows = cells.map((row) => row.map(cellText));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

export function time(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '-';
  return isInCalendar(seconds) ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z') : String(seconds);
}

/** @returns the message of a refusal, followed by one line for each field with a problem. */
export const refusalText = ({ message, problems }: RequestError): string =>
  [message, ...problems.map(({ path, message }) => `  ${path}: ${message}`)].join('\n');
