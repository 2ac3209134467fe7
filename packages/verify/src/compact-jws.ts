/** As Signet's own limit. Its tokens have less than 1 KB. */
export const maxJwsLength = 8192;

/** Base64url without padding and without stray bits at the end: one token has one spelling (RFC 4648 §3.5). */
const segment = '(?:[\\w-]{4})*(?:[\\w-][AQgw]|[\\w-]{2}[AEIMQUYcgkosw048])?';
export const compactJws = new RegExp(`^${segment}\\.${segment}\\.${segment}$`);
