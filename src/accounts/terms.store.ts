import { raw, type Sql, sql } from '../platform/db/sql.ts';
import { insertTermRows, termTable } from '../platform/db/term-search.ts';
import type { UserId } from '../platform/ids.ts';
import { termsOf } from '../platform/search-terms.ts';

export const userTerms = termTable('user_terms', 'user_id');

/** What users are found by, beside their id. */
export const searchedFields = [
  'email',
  'name',
  'given_name',
  'middle_name',
  'family_name',
  'preferred_username',
] as const;
export type SearchedField = (typeof searchedFields)[number];
type Searched = Readonly<Partial<Record<SearchedField, string | null>>>;

function termsOfField(field: SearchedField, value: string): readonly string[] {
  const terms = termsOf(value);
  // The last part of an address, such as `com`, is that of too many.
  return field === 'email' && terms.length > 1 ? terms.slice(0, -1) : terms;
}

/** For a user without terms of these fields. */
export function insertTerms(user_id: UserId, searched: Searched): Sql[] {
  const rows = searchedFields.flatMap((field) =>
    termsOfField(field, searched[field] ?? '').map((term) => sql`(${term}, ${user_id}, ${field})`),
  );
  return insertTermRows(raw('user_terms (term, user_id, field)'), rows);
}

/** Follows a statement that changes the row of the user, and so lets others of the same user wait. */
export const replaceTerms = (user_id: UserId, field: SearchedField, value: string | null | undefined): Sql[] => [
  sql`delete from user_terms where user_id = ${user_id} and field = ${field}`,
  ...insertTerms(user_id, { [field]: value }),
];

export const deleteTerms = (user_id: UserId): Sql => sql`delete from user_terms where user_id = ${user_id}`;
