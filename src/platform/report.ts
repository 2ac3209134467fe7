import { isInCalendar } from './clock.ts';
import type { RequestError } from './errors.ts';
import { visibleText } from './text.ts';

/** What a command tells: `json` for machines, `text` for people. */
export type Report = {
  json: unknown;
  text: string;
  /** True when what it tells is bad news: exit code 1. */
  failed?: boolean;
};

/** What there is to say of a change once it is made. */
export async function done(change: Promise<unknown>, json: Record<string, unknown>, text: string): Promise<Report> {
  await change;
  return { json, text };
}

/** A list under `name`, a row of the table for each. */
export const listed = <One>(
  name: string,
  all: readonly One[],
  headings: readonly string[],
  row: (one: One) => string[],
): Report => ({ json: { [name]: all }, text: table([headings, ...all.map(row)]) });

const longestCell = 10_000;

/** What nobody can read again. */
export const shownOnce = (fields: Record<string, string>): string =>
  `${table(Object.entries(fields))}\n\nThe secret is shown only once.`;

/**
 * Columns, two spaces apart, each as wide as its widest cell. Much of what stands in cells was chosen by others: none of
 * it commands the terminal, and none begins a line of its own.
 */
export function table(texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map((cell) => visibleText(cell.replaceAll(/[\n\t]+/g, ' '), longestCell)));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

export const time = (seconds: number | null | undefined): string =>
  seconds === null || seconds === undefined
    ? '-'
    : isInCalendar(seconds)
      ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
      : String(seconds);

/** @returns the message of a refusal, followed by one line for each field with a problem. */
export function refusalText(error: RequestError): string {
  const fields = Array.isArray(error.details.fields)
    ? (error.details.fields as { path: string; message: string }[])
    : [];
  return [error.message, ...fields.map(({ path, message }) => `  ${path}: ${message}`)].join('\n');
}
