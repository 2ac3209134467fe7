/** The scopes of Signet and what each means to the person who is asked for it (specification §2.1). */
export const scopes = {
  openid: 'Confirm who you are',
  profile: 'See your name and picture',
  email: 'See your email address and whether it is verified',
  offline_access: 'Stay connected while you are away',
  'entitlements:read': 'See your subscriptions across products',
} as const;

export type Scope = keyof typeof scopes;

/** Every scope, in the order in which people and machines are told of them. */
export const scopeNames = Object.keys(scopes) as Scope[];

/** What an authorization request without `scope` asks for, before it is cut to what the client may have. */
export const defaultScope: readonly Scope[] = ['openid', 'profile', 'email'];

export const isScope = (name: string): name is Scope => Object.hasOwn(scopes, name);

export const hasScope = (scope: string, name: Scope): boolean => scope.split(' ').includes(name);

/** What of a scope a client may have: an administrator may have taken some away since it was granted. */
export const withinAllowed = (scope: string, allowed: readonly string[]): string =>
  parseScope(scope)
    .filter((name) => isScope(name) && allowed.includes(name))
    .join(' ');

/**
 * Whether a client may have all of a scope, without parsing the client's list.
 * @param allowed the client's scopes as a JSON list. No scope of ours has a character that JSON escapes, and a quote within
 * a text is escaped, so a name in quotes is in the text exactly if it is in the list.
 */
export const isWithinAllowed = (scope: string, allowed: string): boolean =>
  scope.split(' ').every((name) => isScope(name) && allowed.includes(`"${name}"`));

/**
 * `scope` as a list: tokens between single spaces (RFC 6749 §3.3), each once, in the order of their first mention.
 * Names are not judged here: an unknown scope is the caller's `invalid_scope`, and so is the empty token that a
 * leading, trailing or double space leaves behind.
 * @returns an empty list for an empty text.
 */
export const parseScope = (text: string): string[] => (text === '' ? [] : [...new Set(text.split(' '))]);
