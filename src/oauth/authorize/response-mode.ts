/** OAuth 2.0 Multiple Response Types §2.1, OAuth 2.0 Form Post Response Mode §2. */
export const responseModes = ['query', 'fragment', 'form_post'] as const;

/** As it is stored; undefined: the query of the redirect URI. */
export type OtherMode = Exclude<(typeof responseModes)[number], 'query'> | undefined;

/** Bytes of a value that is returned to the client; it is stored while the user signs in. */
export const longestEcho = 4096;

/** No body reaches an app behind a scheme of its own. */
export const canReceivePost = (redirect_uri: string): boolean => /^https?:/.test(redirect_uri);

export function otherMode(mode: unknown, redirect_uri: string): OtherMode {
  if (mode === 'fragment') return mode;
  return mode === 'form_post' && canReceivePost(redirect_uri) ? mode : undefined;
}

/**
 * A request object is refused, and only how the refusal travels is read from it: a client may have sent that nowhere else. It is not
 * trusted, but neither is a query, and the refusal goes to a redirect_uri that has been verified.
 */
export function readRefusedObject(request: string): { state?: string; response_mode?: unknown } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(request.split('.', 2)[1] ?? '', 'base64url').toString());
    const { state, response_mode } = Object(claims) as Record<string, unknown>;
    const isEchoed = typeof state === 'string' && Buffer.byteLength(state) <= longestEcho;
    return { state: isEchoed ? state : undefined, response_mode };
  } catch {
    return {};
  }
}
