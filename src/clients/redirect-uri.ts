import type { Sentence } from '../i18n/translate.ts';

/** Longer ones reach the limits of browsers and proxies, and no callback needs it. */
const longest = 2048;

/** Where http may be registered (specification §2.2): the code never leaves the machine. */
const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** RFC 3986 §2, without `*`: no wildcards, and nothing that needs escaping wherever the URI is written down. */
const uriCharacters = /^[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=%]+$/;

/**
 * An escape that hides a character which needs none, or one that means something: a letter, a dot, a slash, a
 * backslash, a percent sign, a control character. Two servers on the way could disagree about where such a URI leads.
 */
const isTrickyEscape = (percentEncoded: string) => {
  const character = String.fromCharCode(Number.parseInt(percentEncoded.slice(1), 16));
  return /[A-Za-z0-9\-._~/\\%]/.test(character) || character < ' ' || character === '\x7f';
};

/**
 * What stands against registering a redirect URI, as a sentence that never repeats the URI.
 *
 * Matching is string equality, so the registered text must have one reading only: the one that a URL parser writes.
 * A bare origin without its slash has only one reading, too.
 */
export function redirectUriProblem(uri: string): Sentence | undefined {
  return charactersProblem(uri) ?? addressProblem(uri) ?? spellingProblem(uri);
}

function charactersProblem(uri: string): Sentence | undefined {
  if (uri.length > longest) return { key: 'problem.url.long', values: { most: longest } };
  if (uri.includes('*')) return { key: 'problem.redirect_uri.wildcard' };
  if (uri.includes('#')) return { key: 'problem.redirect_uri.fragment' }; // RFC 6749 §3.1.2
  if (!uriCharacters.test(uri)) return { key: 'problem.redirect_uri.characters' };
  if (/%(?![0-9A-Fa-f]{2})/.test(uri)) return { key: 'problem.redirect_uri.percent' };
  if ((uri.match(/%../g) ?? []).some(isTrickyEscape)) return { key: 'problem.redirect_uri.escapes' };
  return undefined;
}

function addressProblem(uri: string): Sentence | undefined {
  const url = URL.parse(uri);
  if (url === null || !/^https?:$/.test(url.protocol)) return { key: 'problem.redirect_uri.scheme' };
  if (url.username || url.password) return { key: 'problem.url.userinfo' };
  if (url.port === '0') return { key: 'problem.redirect_uri.port' };
  if (url.protocol === 'http:' && !loopbackHosts.includes(url.hostname)) return { key: 'problem.redirect_uri.http' };
  if (url.hostname.endsWith('.')) return { key: 'problem.redirect_uri.dot' };
  return undefined;
}

/** @param uri one that parses. */
function spellingProblem(uri: string): Sentence | undefined {
  const path = uri.replace(/^[^/]*\/\/[^/?]*/, '').replace(/\?.*$/, '');
  // "..;" is a dot segment to some Java servers, and a plain one to everybody before them.
  if (path.split('/').some((segment) => /^\.\.?(;|$)/.test(segment))) return { key: 'problem.redirect_uri.segments' };
  const { href, origin } = new URL(uri);
  if (uri === href || uri === origin) return undefined;
  return { key: uri.startsWith(`${origin}/`) ? 'problem.redirect_uri.encoding' : 'problem.redirect_uri.spelling' };
}

/** An http URI on a loopback IP literal: what stands before the port, and what after. `localhost` is a name, not one. */
const loopbackLiteral = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/;

/**
 * Whether a client may be redirected to `requested`: simple string comparison (RFC 9700 §4.1.3), with the one exception
 * that OAuth 2.1 §8.4.2 and RFC 8252 §7.3 make: a native app listens on whichever port of a loopback IP literal the
 * system gave it, so there the port is not compared. `localhost` is compared whole, since the specification says exact.
 */
export function matchesRegistered(registered: readonly string[], requested: string): boolean {
  if (registered.includes(requested)) return true;
  const wanted = portless(requested);
  return wanted !== undefined && registered.some((uri) => portless(uri) === wanted);
}

/** Compared as text on both sides: nothing is decoded or resolved, so nothing can be smuggled in. */
function portless(uri: string): string | undefined {
  const [, host, port, rest] = loopbackLiteral.exec(uri) ?? [];
  return host === undefined || Number(port ?? 80) > 65_535 ? undefined : `${host}${rest}`;
}
