/** A Bearer token from the values of Authorization headers, or why there is none. */
export type Bearer = { token: string } | { problem: 'missing' | 'several' | 'malformed' };

/** RFC 6750 §2.1; the name of the scheme is case-insensitive (RFC 9110 §11.1). */
export function readBearer(header: string | readonly string[] | null | undefined): Bearer {
  const values = typeof header === 'string' ? [header] : (header ?? []);
  if (values.length > 1) return { problem: 'several' };
  const [value = ''] = values;
  if (!/^bearer(?:[\s,]|$)/i.test(value)) return { problem: 'missing' };
  const [, token] = /^bearer +([\w.~+/-]+=*)$/i.exec(value) ?? [];
  return token === undefined ? { problem: 'malformed' } : { token };
}

type NodeRequest = { headers: { authorization?: string | undefined }; rawHeaders?: readonly string[] | undefined };

/** Node keeps the first of several Authorization headers in `headers`; only `rawHeaders` shows that there were more. */
export function authorizationOf({ headers, rawHeaders = [] }: NodeRequest): string | string[] | undefined {
  const sent = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  );
  return sent.length > 1 ? sent : headers.authorization;
}
