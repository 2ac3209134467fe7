declare const checked: unique symbol;
/** A path on our own origin, with its query and fragment: safe to redirect to. Only {@link localPath} makes one. */
export type LocalPath = string & { readonly [checked]: true };

/** Where a sign-in leads that no client asked for, and that has no good `next`. */
export const defaultPath = '/account' as LocalPath;

const longest = 2000;

/**
 * The one guard of `next` (decisions §9): a path on our own origin, judged by the origin it resolves to, because
 * `/\evil.example` and `/<tab>/evil.example` look like paths and are not (WHATWG URL §4.4).
 * @param next whatever was sent or stored.
 * @param baseUrl our origin, without a path.
 * @returns the path as the URL parser writes it, which resolves to our origin from any page and which this function
 * returns unchanged; undefined for anything else, and for what is longer than 2000 characters.
 */
export function localPath(next: unknown, baseUrl: string): LocalPath | undefined {
  if (typeof next !== 'string' || next.length > longest || !next.startsWith('/')) return undefined;
  if (!URL.canParse(next, baseUrl)) return undefined;
  const { origin, pathname, search, hash } = new URL(next, baseUrl);
  // A path of two slashes, as "/.//host" leaves behind, would name a host when it is resolved again.
  if (origin !== baseUrl || pathname.startsWith('//')) return undefined;
  const path = pathname + search + hash;
  return path.length > longest ? undefined : (path as LocalPath);
}
