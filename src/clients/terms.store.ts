import { allOf, raw, type Sql, sql } from '../platform/db/sql.ts';
import { firstTermOf, insertTermRows, termTable } from '../platform/db/term-search.ts';
import type { ClientId } from '../platform/ids.ts';
import { type TermRange, termsOf } from '../platform/search-terms.ts';

/** What clients are found by, beside their id and their owner. */
export const clientTerms = termTable('client_terms', 'client_id');

/** A condition: each word of a query begins a term of the client's name. */
export const hasClientTerms = (client_id: Sql, ranges: readonly TermRange[]): Sql =>
  allOf(ranges.map((range) => sql`${firstTermOf(clientTerms, client_id, range)} is not null`));

/** For a client without terms. */
export const insertTerms = (client_id: ClientId, name: string): Sql[] =>
  insertTermRows(
    raw('client_terms (term, client_id)'),
    termsOf(name).map((term) => sql`(${term}, ${client_id})`),
  );

/** Follows a statement that changes the row of the client, and so lets others of the same client wait. */
export const replaceTerms = (client_id: ClientId, name: string): Sql[] => [
  sql`delete from client_terms where client_id = ${client_id}`,
  ...insertTerms(client_id, name),
];
