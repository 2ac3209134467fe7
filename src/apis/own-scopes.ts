/** Scopes of ours, in the order in which they are shown (specification §2.1). What each is: `builtInScopes` in `clients/scopes.ts`. */
export const ownScopes = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read', 'groups'] as const;
export type OwnScope = (typeof ownScopes)[number];

/** Others that mean something everywhere (OpenID Connect Core §5.4), or will here: no API may give them a meaning of its own. */
const standardScopes = ['address', 'phone', 'roles'];

export const reservedScopes: ReadonlySet<string> = new Set([...ownScopes, ...standardScopes]);
