import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { isIpAddress } from '../platform/ip-address.ts';

// Addresses that users and reviewers follow. The server fetches that of a logo alone.

const longestUrl = 2048;

/** An IP address is refused: a logo must be on a named host. */
export function logoUrlProblem(text: string): MessageDescriptor | undefined {
  const problem = homepageUrlProblem(text);
  if (problem !== undefined) return problem;
  const host = new URL(text).hostname;
  const isNamed = !isIpAddress(host) && host !== 'localhost' && !host.endsWith('.localhost');
  return isNamed ? undefined : { key: 'problem.logo_url.host' };
}

/** The parameters that we send there must be ours alone (OpenID Connect Core §4), and none comes behind a fragment. */
export function startUrlProblem(text: string): MessageDescriptor | undefined {
  const problem = homepageUrlProblem(text);
  if (problem !== undefined) return problem;
  const { hash, searchParams } = new URL(text);
  const isPlain = hash === '' && !text.endsWith('#') && !startParameters.some((name) => searchParams.has(name));
  return isPlain ? undefined : { key: 'problem.initiate_login_uri.plain' };
}

const startParameters = ['iss', 'login_hint', 'target_link_uri'];

/** Refuses anything that is not plainly https, such as `javascript:` in any spelling. */
export function homepageUrlProblem(text: string): MessageDescriptor | undefined {
  if (text.length > longestUrl) return { key: 'problem.url.long', values: { max: longestUrl } };
  const url = /^https:\/\/[\x21-\x7e]+$/.test(text) && !/["'<>\\^`{|}]/.test(text) ? URL.parse(text) : null;
  if (url === null) return { key: 'problem.url.https' };
  if (url.username || url.password) return { key: 'problem.url.userinfo' };
  return undefined;
}
