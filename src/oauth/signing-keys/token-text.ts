// What is signed, for the event loop and for the thread that signs beside it, which gets the text of these functions: so they
// use nothing but their parameters and what Node has everywhere.

/** What the signature of a compact JWS is of (RFC 7515 §5.1). @param header encoded. @param claims JSON. */
export const signingInput = (header: string, claims: string): string =>
  `${header}.${Buffer.from(claims).toString('base64url')}`;

/** The left half of the hash of an access token (OIDC Core §3.1.3.6). @param digest by the hash of the signature algorithm. */
export const halfOfHash = (digest: Buffer): string => digest.toString('base64url', 0, digest.length / 2);

/** The claims of an ID token, with `at_hash`. @param claims JSON of an object that is not empty. */
export const withAccessTokenHash = (claims: string, at_hash: string): string =>
  `${claims.slice(0, -1)},"at_hash":"${at_hash}"}`;
