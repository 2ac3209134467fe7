import { type Parameters, readChoice } from '../platform/http/parameters.ts';

/** Days that a chart has, today among them. */
export const periods = [7, 30, 90, 365] as const;
export type Period = (typeof periods)[number];

const longestPeriod: Period = 365;

/** The longest chart, the period before it, and some days more: a purge never takes what is still compared. */
export const keptDays = 2 * longestPeriod + 7;
/** No number asks for users who were active before the longest chart. */
export const activeKeptDays = longestPeriod + 7;

const texts = periods.map(String);

/** The parameter `days` of a page: thirty until another is chosen. */
export const readPeriod = (query: Parameters): Period =>
  periods.find((one) => String(one) === readChoice(query, 'days', texts)) ?? 30;
