/** Every scope, in the order in which they are shown (specification §2.1). */
export const scopeNames = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'] as const;
export type Scope = (typeof scopeNames)[number];

/** What an authorization request without `scope` requests, before it is cut to what the client is allowed (specification §2.1). */
export const defaultScope: readonly Scope[] = ['openid', 'email', 'profile'];

/** What a client is allowed that was registered without `allowed_scopes` (specification §2.2). */
export const defaultAllowedScopes: readonly Scope[] = ['openid', 'profile', 'email'];

/** Those that are advertised: some clients request all of them. Which product has entitlements, its developer knows. */
export const advertisedScopes: readonly Scope[] = scopeNames.filter((name) => name !== 'entitlements:read');

const known: ReadonlySet<string> = new Set(scopeNames);
export const isScope = (name: string): name is Scope => known.has(name);

export const hasScope = (scope: string, name: Scope): boolean => parseScope(scope).includes(name);

/** For a developer, without repeating what was sent: an `error_description` never does. */
export const describeAllowed = (allowed: readonly string[]): string =>
  `scope names nothing that is allowed. Allowed: ${allowed.join(' ')}.`;

/** Whether a scope has characters that no scope has, such as a line break (RFC 6749 §3.3). */
export const isMalformedScope = (text: string): boolean => /[^\x20\x21\x23-\x5b\x5d-\x7e]/.test(text);

/** What was requested and not granted. */
export const leftOut = (requested: string, granted: string): string[] =>
  parseScope(requested).filter((name) => !parseScope(granted).includes(name));

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

/** Tokens between spaces (RFC 6749 §3.3), without duplicates, known or not. A space too many is none of the names. */
export function parseScope(text: string): readonly string[] {
  const remembered = parsed.get(text);
  if (remembered !== undefined || text === '') return remembered ?? [];
  const words = text.split(' ');
  const names = [...new Set(words)].filter((name) => name !== '');
  if (names.length === words.length && names.every(isScope)) parsed.set(text, names);
  return names;
}
