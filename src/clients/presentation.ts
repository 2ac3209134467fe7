import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { isIpAddress } from '../platform/ip-address.ts';

/**
 * What a client shows of itself: a name and two addresses. People decide by them whom to trust, so a name must look
 * like what it is (OAuth 2.1 §7.12). The server fetches neither address, ever.
 */

const longestUrl = 2048;

/** Alphabets that share shapes with each other: "Рау" can be Cyrillic, and with a Latin "l" after it, is a disguise. */
const lookalikeScripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];

/** What a reviewer should know about a name before approving it. Honest names do this too, so it refuses nothing. */
export function nameWarning(name: string): string | undefined {
  const mixed = lookalikeScripts.filter((script) => script.test(name)).length > 1;
  return mixed ? 'This name mixes alphabets whose letters look alike; it may imitate another name.' : undefined;
}

/** What stands against a logo. An IP address is refused: a logo lives on a host that somebody has a certificate for. */
export function logoUrlProblem(text: string): MessageDescriptor | undefined {
  const problem = homepageUrlProblem(text);
  if (problem !== undefined) return problem;
  const host = new URL(text).hostname;
  const isNamed = !isIpAddress(host) && host !== 'localhost' && !host.endsWith('.localhost');
  return isNamed ? undefined : { key: 'problem.logo_url.host' };
}

/** What stands against a homepage: anything that is not plainly https, such as `javascript:` in whatever letters. */
export function homepageUrlProblem(text: string): MessageDescriptor | undefined {
  if (text.length > longestUrl) return { key: 'problem.url.long', values: { most: longestUrl } };
  const url = /^https:\/\/[\x21-\x7e]+$/.test(text) && !/["'<>\\^`{|}]/.test(text) ? URL.parse(text) : null;
  if (url === null) return { key: 'problem.url.https' };
  if (url.username || url.password) return { key: 'problem.url.userinfo' };
  return undefined;
}
