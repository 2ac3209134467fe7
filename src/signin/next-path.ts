/**
 * Where to go after a sign-in that no client asked for: a path on our own origin, judged by the origin it resolves to,
 * because `/\evil.example` and `/<tab>/evil.example` look like paths and are not.
 * @returns `/account` for anything else, and for what is longer than 2000 characters.
 */
export function nextPath(next: string | undefined, baseUrl: string): string {
  const fallback = '/account';
  if (next === undefined || next.length > 2000 || !next.startsWith('/') || !URL.canParse(next, baseUrl))
    return fallback;
  const url = new URL(next, baseUrl);
  if (url.origin !== baseUrl || url.pathname.startsWith('//')) return fallback;
  const path = url.pathname + url.search + url.hash;
  return path.length > 2000 ? fallback : path;
}
