export type Scheme = 'Bearer' | 'DPoP';

/** The values of a header: one, several, or none. */
export type HeaderValues = string | readonly string[] | null | undefined;

/** A token from the values of Authorization headers, or why there is none. */
export type Authorization = { scheme: Scheme; token: string } | { problem: 'missing' | 'several' | 'malformed' };

/** RFC 6750 §2.1, RFC 9449 §7.1; the name of the scheme is case-insensitive (RFC 9110 §11.1). */
export function readAuthorization(header: HeaderValues, schemes: readonly Scheme[]): Authorization {
  const values = typeof header === 'string' ? [header] : (header ?? []);
  if (values.length > 1) return { problem: 'several' };
  const [value = ''] = values;
  const [, name = ''] = /^([a-z]+)(?:[\s,]|$)/i.exec(value) ?? [];
  const scheme = schemes.find((one) => one.toLowerCase() === name.toLowerCase());
  if (!scheme) return { problem: 'missing' };
  const [, token] = /^[a-z]+ +([\w.~+/-]+=*)$/i.exec(value) ?? [];
  return token === undefined ? { problem: 'malformed' } : { scheme, token };
}

type NodeRequest = {
  headers: { authorization?: string | undefined; dpop?: string | readonly string[] | undefined };
  rawHeaders?: readonly string[] | undefined;
};

/** Node keeps the first of several Authorization headers in `headers`; only `rawHeaders` shows that there were more. */
export function authorizationOf({ headers, rawHeaders = [] }: NodeRequest): HeaderValues {
  const sent = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  );
  return sent.length > 1 ? sent : headers.authorization;
}
