import { isAttributeScope } from '../attributes/attribute.ts';
import { type FieldProblem, fieldProblem } from '../platform/errors.ts';
import { locales } from '../platform/i18n/translate.ts';
import { displayNameProblem, isSeen } from '../platform/text.ts';
import { comparableIdentifier } from './api.ts';
import { reservedScopes } from './own-scopes.ts';

export const maxApis = 200;
export const maxScopes = 50;
export const longestIdentifier = 2048;
export const longestScope = 100;
export const longestSentence = 200;
export const longestDescription = 500;

export type WantedScope = { readonly name: string; readonly descriptions: Readonly<Record<string, string>> };

/** RFC 6749 §3.3: visible ASCII without the quotation mark and the backslash. */
export const scopePattern = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$';

/** An absolute URI without a fragment (RFC 8707 §2), which is not this server's own. */
export function identifierProblem(identifier: string, baseUrl: string): FieldProblem[] {
  const isUri =
    identifier.length <= longestIdentifier &&
    /^[\x21-\x7e]+$/.test(identifier) &&
    URL.canParse(identifier) &&
    !identifier.includes('#') &&
    !/^(?:javascript|data|blob|file|about):/i.test(identifier);
  if (!isUri) return [fieldProblem('identifier', { key: 'problem.api.identifier' })];
  const { username, password } = new URL(identifier);
  if (username !== '' || password !== '') return [fieldProblem('identifier', { key: 'problem.api.identifier' })];
  if (comparableIdentifier(identifier) !== comparableIdentifier(baseUrl)) return [];
  return [fieldProblem('identifier', { key: 'problem.api.issuer' })];
}

export function apiProblems({
  name,
  description,
}: {
  name: string;
  description?: string | null | undefined;
}): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (displayNameProblem(name) !== undefined) problems.push(fieldProblem('name', { key: 'problem.name' }));
  const isText = (description ?? '').length <= longestDescription && isSeen(description ?? '');
  if (!isText) {
    const values = { max: longestDescription };
    problems.push(fieldProblem('description', { key: 'problem.api.description', values }));
  }
  return problems;
}

export function scopeProblems(scopes: readonly WantedScope[]): FieldProblem[] {
  if (scopes.length > maxScopes)
    return [fieldProblem('scopes', { key: 'problem.api.many_scopes', values: { max: maxScopes } })];
  return scopes.flatMap((scope, place) => problemsOfScope(scope, `scopes/${place}`, scopes.slice(0, place)));
}

function problemsOfScope(
  { name, descriptions }: WantedScope,
  path: string,
  before: readonly WantedScope[],
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!new RegExp(scopePattern).test(name) || name.length > longestScope)
    problems.push(fieldProblem(`${path}/name`, { key: 'problem.api.scope', values: { max: longestScope } }));
  else if (reservedScopes.has(name) || isAttributeScope(name))
    problems.push(fieldProblem(`${path}/name`, { key: 'problem.api.scope_own' }));
  else if (before.some((other) => other.name === name))
    problems.push(fieldProblem(`${path}/name`, { key: 'problem.api.scope_twice' }));
  const sentences = Object.entries(descriptions);
  const isSentence = ([locale, text]: [string, string]) =>
    locales.includes(locale) && [...text].length <= longestSentence && /\S/.test(text) && isSeen(text);
  if (sentences.length === 0 || !sentences.every(isSentence)) {
    const values = { max: longestSentence, languages: locales.join(', ') };
    problems.push(fieldProblem(`${path}/descriptions`, { key: 'problem.api.sentence', values }));
  }
  return problems;
}
