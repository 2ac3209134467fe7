/** RFC 4180. The first row has the names of the columns. */
export const csvType = 'text/csv; charset=utf-8; header=present';

/** Spreadsheets take a file without a byte order mark for one in the local code page. */
export async function* withByteOrderMark(content: AsyncIterable<string>): AsyncGenerator<string> {
  yield '\ufeff';
  yield* content;
}

const begins = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const inside = /([;\t|\n]\s*)([=+@\-\uff1d\uff0b\uff0d\uff20])/g;

/**
 * A spreadsheet takes what begins with one of these, or their wide forms, for a formula, and a reason or a name may be
 * chosen by an attacker (OWASP, CSV Injection): an apostrophe makes it a text. Where a spreadsheet takes another character
 * for the end of a cell, that stands in the middle of ours.
 */
export function csvCell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  const harmless = typeof value === 'string' ? `${begins.test(text) ? `'` : ''}${text.replace(inside, `$1'$2`)}` : text;
  return /[",\r\n]/.test(harmless) || harmless !== text ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** The name of a file: what is in it, and the day on which it was made. @param at Unix seconds. */
export const csvName = (what: readonly (string | undefined)[], at: number): string =>
  `${[...what.filter((one) => one !== undefined), new Date(at * 1000).toISOString().slice(0, 10)].join('_').replace(/[^\w.-]+/g, '-')}.csv`;

export const csvRow = (cells: readonly (string | number | null)[]): string => `${cells.map(csvCell).join(',')}\r\n`;
