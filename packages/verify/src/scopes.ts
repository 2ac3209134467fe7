/** Names of scopes: a list, or one string with spaces between them. */
export type Scopes = string | readonly string[];

/** RFC 6749 §3.3. */
const scopeName = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** @throws {TypeError} for what cannot be a scope: no token would have it, and it would break the header that names it. */
export function scopesOf(scope: Scopes = []): string[] {
  const names = [scope].flat().flatMap((one) => one.split(' ').filter((name) => name !== ''));
  if (!names.every((name) => scopeName.test(name))) throw new TypeError('A scope has a character that is not allowed.');
  return names;
}
