/**
 * Whether a token is for this audience (RFC 7519 §4.1.3). Signet's `aud` is the client, or the client and the identifiers of the APIs
 * that the token is for (RFC 8707 §2). A token that is for APIs is for these alone, so the client in it does not count: an API that
 * accepts all tokens of a client would otherwise take one that is meant for another API.
 */
export function isForAudience(aud: unknown, client: unknown, accepted: ReadonlySet<unknown>): boolean {
  const names: unknown[] = Array.isArray(aud) ? aud : [aud];
  const apis = names.filter((name) => name !== client);
  return (apis.length === 0 ? names : apis).some((name) => accepted.has(name));
}
