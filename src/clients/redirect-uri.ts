import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import type { applicationTypes } from './choices.ts';

/** Longer ones reach the limits of browsers and proxies. */
const longest = 2048;

/** Where http may be registered (specification §2.2): the code never leaves the machine. */
const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** RFC 3986 §2, without `*`: no wildcards, and nothing that needs escaping wherever the URI is written down. */
const uriCharacters = /^[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=%]+$/;

/**
 * Why a redirect URI cannot be registered. Refused is what the specification refuses (§2.2), what is no URI, and what two
 * readers can take for different addresses: the reviewer, the browser, a proxy, the server behind it. See
 * docs/decisions/0006.
 */
export function redirectUriProblem(uri: string): MessageDescriptor | undefined {
  return (
    charactersProblem(uri) ??
    (isPrivateUse(uri) ? privateUseProblem(uri) : addressProblem(uri)) ??
    pathProblem(uri) ??
    queryProblem(uri)
  );
}

/** A scheme other than those that lead to a web server. */
export const isPrivateUse = (uri: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(uri) && !/^https?:/i.test(uri);

/**
 * By what a user or a reviewer recognizes the receiver of a response: the host, or the private-use scheme with its colon.
 * Behind such a scheme may stand any text that looks like a host, and it decides nothing.
 * @param uri one that is registered.
 */
export const destinationOf = (uri: string): string =>
  isPrivateUse(uri) ? uri.slice(0, uri.indexOf(':') + 1) : new URL(uri).host;

/**
 * RFC 8252 §7.1: the scheme is a domain name of the app's maker in reverse, so that two apps do not choose the same. This
 * excludes every scheme with a meaning of its own, such as `javascript`, `data` and `file`. In lower case, because systems
 * differ in whether they compare schemes by case.
 */
const privateUseProblem = (uri: string): MessageDescriptor | undefined =>
  /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]*[a-z0-9])+:\/(?:\/[a-z0-9.-]+(?:[/?]|$)|[^/])/.test(uri)
    ? undefined
    : { key: 'problem.redirect_uri.private_use' };

/** Of what the server itself sends requests to, so that nothing is appended (Back-Channel Logout 1.0 §2.2, RFC 7591 §2). */
export const serverUriProblem = (uri: string): MessageDescriptor | undefined =>
  charactersProblem(uri) ?? addressProblem(uri) ?? pathProblem(uri);

/** A private-use scheme or a loopback IP literal, which only an app on a device can receive (RFC 8252 §7.1, §7.3). */
export const isNativeUri = (uri: string): boolean => registeredLiteral.test(uri) || isPrivateUse(uri);

function charactersProblem(uri: string): MessageDescriptor | undefined {
  if (uri.length > longest) return { key: 'problem.url.long', values: { max: longest } };
  if (uri.includes('*')) return { key: 'problem.redirect_uri.wildcard' };
  if (uri.includes('#')) return { key: 'problem.redirect_uri.fragment' }; // RFC 6749 §3.1.2
  if (!uriCharacters.test(uri)) return { key: 'problem.redirect_uri.characters' };
  if (/%(?![0-9A-Fa-f]{2})/.test(uri)) return { key: 'problem.redirect_uri.percent' };
  if (/%(?:[01].|7f)/i.test(uri)) return { key: 'problem.redirect_uri.escapes' };
  return undefined;
}

function addressProblem(uri: string): MessageDescriptor | undefined {
  const [, authority = ''] = /^https?:\/\/([^/?]+)/i.exec(uri) ?? [];
  const url = authority === '' ? null : URL.parse(uri);
  if (url === null) return { key: 'problem.redirect_uri.scheme' };
  if (authority.includes('@')) return { key: 'problem.url.userinfo' };
  if (url.protocol === 'http:' && !loopbackHosts.includes(url.hostname)) return { key: 'problem.redirect_uri.http' };
  // "rp%2etest" and "0x7f.1" are parsed as other hosts than the written one.
  const written = authority.replace(/:\d*$/, '').toLowerCase();
  // No DNS name contains ";" or ",", and some readers end the host there.
  const isName = /^[a-z0-9._-]+$|^\[/.test(written);
  return isName && written === url.hostname ? undefined : { key: 'problem.redirect_uri.host' };
}

/** @param uri one that parses. */
function pathProblem(uri: string): MessageDescriptor | undefined {
  const path = uri.replace(/^[^/]*\/\/[^/?]*/, '').replace(/\?.*$/, '');
  // A proxy that decodes once more sees other segments than the browser (RFC 9700 §4.1.1).
  if (/%(?:2f|5c|25)/i.test(path)) return { key: 'problem.redirect_uri.escapes' };
  const segments = path.replace(/%2e/gi, '.').replace(/%3b/gi, ';').split('/');
  // "..;" is a dot segment to some Java servers only.
  return segments.some((segment) => /^\.\.?(;|$)/.test(segment)) ? { key: 'problem.redirect_uri.segments' } : undefined;
}

/** Parameters of an authorization response (RFC 6749 §4.1.2, RFC 9207, OAuth multiple response types, JARM, sessions). */
const responseParameters: ReadonlySet<string> = new Set([
  'code',
  'state',
  'iss',
  'error',
  'error_description',
  'error_uri',
  'response',
  'session_state',
  'id_token',
  'access_token',
  'token_type',
  'expires_in',
]);

/**
 * A response parameter in the URI would come twice in the response. Names are compared as the most lenient server reads
 * them: decoded, in any case, without PHP's brackets, separated by `;` as well.
 */
function queryProblem(uri: string): MessageDescriptor | undefined {
  const [, query = ''] = uri.split(/\?(.*)/s);
  const names = [...new URLSearchParams(query.replaceAll(';', '&')).keys()];
  const isReserved = names.some((name) => responseParameters.has(name.trim().toLowerCase().replace(/\[.*$/s, '')));
  return isReserved ? { key: 'problem.redirect_uri.response_parameter' } : undefined;
}

/** An http URI on a loopback host: the text before the port, and after it. */
const loopback = (host: string, port: string) =>
  new RegExp(String.raw`^(http:\/\/(?:${host}))(?::(${port}))?((?:[/?].*)?)$`);
const literals = String.raw`127\.0\.0\.1|\[::1\]`;
const requestedLoopback = loopback(`${literals}|localhost`, String.raw`[1-9]\d{0,4}`);
const registeredLiteral = loopback(literals, String.raw`\d*`); // in any spelling, and with the 0 that stands for "any"
const registeredName = /^http:\/\/localhost(?:[/?].*)?$/;

type Registered = { redirect_uris: readonly string[]; application_type: (typeof applicationTypes)[number] };

/**
 * Whether a client may be redirected to `requested`: simple string comparison (RFC 9700 §4.1.3), with the one exception
 * that OAuth 2.1 §8.4.2 and RFC 8252 §7.3 make for native apps. They listen on whichever port of a loopback address the
 * system gave them, so there the port is not compared. RFC 8252 §8.3 advises against `localhost`, and yet command-line and MCP
 * clients listen there: a native app that registers it without a port may choose its port, and one that names a port keeps it.
 */
export function matchesRegistered(
  { redirect_uris: registered, application_type }: Registered,
  requested: string,
): boolean {
  if (registered.includes(requested)) return true;
  if (application_type !== 'native') return false;
  const portlessRequest = portless(requested, requestedLoopback);
  return (
    portlessRequest !== undefined &&
    registered.some((uri) =>
      registeredName.test(uri) ? uri === portlessRequest : portless(uri, registeredLiteral) === portlessRequest,
    )
  );
}

/** Text, without decoding or resolving. */
function portless(uri: string, form: RegExp): string | undefined {
  const [, host, port, rest] = form.exec(uri) ?? [];
  return host === undefined || Number(port ?? 80) > 65_535 ? undefined : `${host}${rest}`;
}
