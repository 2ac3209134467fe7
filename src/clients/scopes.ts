/** Every scope, in the order in which they are shown (specification §2.1). */
export const scopeNames = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'] as const;
export type Scope = (typeof scopeNames)[number];

/** What an authorization request without `scope` requests, before it is cut to what the client is allowed. */
export const defaultScope: readonly Scope[] = ['openid', 'profile', 'email'];

const known: ReadonlySet<string> = new Set(scopeNames);
export const isScope = (name: string): name is Scope => known.has(name);

export const hasScope = (scope: string, name: Scope): boolean => parseScope(scope).includes(name);

/** For a developer, without repeating unknown names: an `error_description` never contains what was sent. */
export function describeRefused(refused: readonly string[], allowed: readonly string[]): string {
  const known = refused.filter(isScope);
  const unknown = known.length < refused.length ? ['a scope that does not exist here'] : [];
  return `Not allowed: ${[...known, ...unknown].join(', ')}. Allowed: ${allowed.join(' ')}.`;
}

/** The part of a scope that a client is allowed: an administrator may have taken some away since it was granted. */
export const withinAllowed = (scope: string, allowed: readonly string[]): string =>
  parseScope(scope)
    .filter((name) => isScope(name) && allowed.includes(name))
    .join(' ');

/**
 * Whether a client is allowed all of a scope, without parsing the client's list.
 * @param allowed a JSON list. No scope has a character that JSON escapes, so a name in quotes is in the text exactly if it
 * is in the list.
 */
export const isWithinAllowed = (scope: string, allowed: string): boolean =>
  parseScope(scope).every((name) => isScope(name) && allowed.includes(quoted[name]));

const quoted = Object.fromEntries(scopeNames.map((name) => [name, `"${name}"`])) as Record<Scope, string>;

/** By text, what was parsed before: only known names without duplicates, so no more than their 325 orders. */
const parsed = new Map<string, readonly Scope[]>();

/**
 * Tokens between single spaces (RFC 6749 §3.3), without duplicates. Callers refuse unknown names, and the empty one that a
 * leading, trailing or double space leaves.
 */
export function parseScope(text: string): readonly string[] {
  const remembered = parsed.get(text);
  if (remembered !== undefined || text === '') return remembered ?? [];
  const words = text.split(' ');
  const names = [...new Set(words)];
  if (names.length === words.length && names.every(isScope)) parsed.set(text, names);
  return names;
}
