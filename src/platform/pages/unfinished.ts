/**
 * Somebody sends a form, must sign in or confirm first, and comes back to its page: the form was not acted on, and what
 * was typed is gone. The mark in the query makes the page say so, however long the way through a second factor or a
 * provider was; the next form leads to an address without it.
 */
const mark = 'unfinished';

/** @param path without a query. */
export const unfinishedAt = (path: string): string => `${path}?${mark}=1`;

/** @param query without its question mark; undefined where a page answers a form, and all is said. */
export const isUnfinished = (query: string | undefined): boolean =>
  query !== undefined && new URLSearchParams(query).get(mark) === '1';

/** @returns the page of the form; undefined if no form led away from it. */
export const pageOfUnfinished = (path: string): string | undefined => {
  const end = unfinishedAt('');
  return path.endsWith(end) ? path.slice(0, -end.length) : undefined;
};
