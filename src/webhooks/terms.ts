import type { Deps } from '../audit/deps.ts';
import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import { isAllowedAddress, isReachable } from '../platform/http/outbound/reachable.ts';
import type { MessageKey } from '../platform/i18n/translate.ts';
import { subnetList } from '../platform/ip-address.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { eventTypes, isEventType } from './event-types.ts';
import type { Webhook } from './store.ts';

export type Terms = Pick<Webhook, 'name' | 'url' | 'event_types'>;
export type WantedTerms = { name: string; url: string; event_types: readonly string[] };

/**
 * @param wanted an empty name is none.
 * @param checked members; what is stored may be from another version or configuration.
 * @throws {RequestError} `invalid_request` with a problem for each field.
 */
export function readTerms(
  deps: Pick<Deps, 'config'>,
  wanted: WantedTerms,
  checked: readonly string[] = ['name', 'url', 'event_types'],
): Terms {
  const problems: FieldProblem[] = [];
  const isNamed = wanted.name !== '';
  if (isNamed && displayNameProblem(wanted.name) !== undefined)
    problems.push(fieldProblem('name', { key: 'problem.name' }));
  const urlProblem = targetProblem(deps, wanted.url);
  if (urlProblem) problems.push(fieldProblem('url', { key: urlProblem }));
  const names = [...new Set(wanted.event_types)];
  const event_types = names.filter(isEventType);
  if (names.length === 0 || event_types.length < names.length) {
    // For programs: the form of the page lists them.
    const message = `Must be one or more of: ${eventTypes.join(', ')}.`;
    problems.push({ path: 'event_types', message, userMessage: { key: 'problem.webhook.events' } });
  }
  const wrong = problems.filter(({ path }) => checked.includes(path));
  if (wrong.length > 0) throw invalidFields(wrong);
  return { name: isNamed ? normalizeName(wanted.name) : null, url: wanted.url, event_types };
}

/** For the audit log, which is kept for long and read by many: the path of a webhook is often its password. */
export const recordedTerms = ({ name, url, event_types }: Terms) => ({ name, origin: originOf(url), event_types });

export const originOf = (url: string): string => new URL(url).origin;

/** The order of the events says nothing. */
export const isSameTerms = (one: Terms, other: Terms): boolean =>
  one.name === other.name &&
  one.url === other.url &&
  new Set(one.event_types).symmetricDifference(new Set(other.event_types)).size === 0;

/** Of a URL that we post to. The name is judged again at each connection, by the addresses that it then has. */
export function targetProblem({ config }: Pick<Deps, 'config'>, url: string): MessageKey | undefined {
  if (url.length > 2000 || !URL.canParse(url)) return 'problem.webhook.url.absolute';
  const { protocol, hostname, username, password, hash } = new URL(url);
  const allowed = subnetList(config.webhookInternal);
  if (username || password || hash) return 'problem.webhook.url.userinfo';
  if (protocol !== 'https:' && !(protocol === 'http:' && config.webhookInternal.length > 0))
    return 'problem.webhook.url.https';
  const isLiteral = /^[\d.]+$|^\[/.test(hostname);
  if (isLiteral && !isAllowedAddress(hostname, allowed)) return 'problem.webhook.url.internal';
  if (isLiteral && !isReachable(protocol, hostname, allowed)) return 'problem.webhook.url.clear';
  return undefined;
}
