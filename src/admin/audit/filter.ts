import { findUser, listPrivilegedIds } from '../../accounts/statements.ts';
import { findUsers } from '../../accounts/users.ts';
import { type ActionGroup, actionGroups } from '../../audit/actions.ts';
import { placeOfText } from '../../audit/all-chains.ts';
import { parseTime, readLogWithoutSealing } from '../../audit/read-log.ts';
import type { AuditFilter } from '../../audit/statements.ts';
import { findClients } from '../../clients/find-clients.ts';
import { isMetadataUrl } from '../../clients/metadata-url.ts';
import { isAdministrative } from '../../entitlements/service-credentials/service-credential.ts';
import { allCredentials } from '../../entitlements/statements.ts';
import { now } from '../../platform/clock.ts';
import type { PlacementDeps, StoreDeps } from '../../platform/deps.ts';
import { emailKey } from '../../platform/email-address.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { mayBeUserId } from '../../platform/ids.ts';
import { addressQuery } from '../../platform/ip-address.ts';

const names = ['action', 'who', 'actor', 'target', 'address', 'by', 'period', 'since', 'until'] as const;

/** The value of `by`. */
export const byAdministrators = 'administrators';

/** What the form says, as it was typed: days for `since` and `until`; `action` may be a group. */
export type AuditQuery = Record<(typeof names)[number], string>;

export const queryOf = (parameters: Parameters): AuditQuery =>
  Object.fromEntries(names.map((name) => [name, (parameters[name] ?? '').trim()])) as AuditQuery;

/** In seconds. */
export const periods = { '24h': 86_400, '7d': 7 * 86_400, '30d': 30 * 86_400 } as const;
export type Period = keyof typeof periods;
export const isPeriod = (text: string): text is Period => Object.hasOwn(periods, text);

/** In a query before the name of a group, which could be the first word of an action. */
export const groupMark = 'group:';
export const groupIn = (action: string): ActionGroup | undefined => {
  const name = action.startsWith(groupMark) ? action.slice(groupMark.length) : '';
  return Object.hasOwn(actionGroups, name) ? (name as ActionGroup) : undefined;
};

/** Users and clients that a typed name may mean, by their ids. */
export type Candidate = { id: string; name: string; detail: string };
/** `hasMore`: others match, too, and are not among them. */
export type Candidates = { candidates: readonly Candidate[]; hasMore: boolean };
/** Of each kind. */
const maxCandidates = 6;

export type WhoIsMeant = { about?: string; actor?: string; request_id?: string } | Candidates;

export const isRequest = (typed: string) => /^req_[\w-]{1,64}$/.test(typed);

/** An id means itself, and what matches a search alone is meant by it. */
export async function whoIsMeant(deps: StoreDeps & PlacementDeps, typed: string): Promise<WhoIsMeant> {
  if (typed === '') return {};
  if (
    /^(?:(?:usr|cl|svc|wh|api|grp|ses|gr|msg)_[\w-]{1,64}|provider:[a-z0-9]{1,20})$/.test(typed) ||
    isMetadataUrl(typed)
  )
    return { about: typed };
  if (await isUserId(deps, typed)) return { about: typed };
  if (isRequest(typed)) return { request_id: typed };
  if (/^(?:cli|system|(?:user|client|service):.+)$/.test(typed)) return { actor: typed };
  const [people, found] = await Promise.all([
    usersMeant(deps, typed),
    findClients(deps, { listing: 'all', query: typed.slice(0, 100), limit: maxCandidates }),
  ]);
  const named = found.clients.map(({ client_id, name }) => ({ id: client_id, name, detail: client_id }));
  const exact = people.candidates.find((one) => isAddressOf(one, typed));
  const candidates = exact ? [exact] : [...people.candidates, ...named];
  const hasMore = !exact && (people.hasMore || found.next !== undefined || !found.complete);
  const [only] = candidates;
  return only && candidates.length === 1 && !hasMore ? { about: only.id } : { candidates, hasMore };
}

/** The same, of users alone. */
export async function userMeant(
  deps: StoreDeps & PlacementDeps,
  typed: string,
): Promise<{ user_id: string } | Candidates> {
  if (typed === '' || (await isUserId(deps, typed))) return { user_id: typed };
  const people = await usersMeant(deps, typed);
  const { candidates, hasMore } = people;
  const [first] = candidates;
  const only =
    candidates.find((one) => isAddressOf(one, typed)) ?? (candidates.length === 1 && !hasMore ? first : undefined);
  return only ? { user_id: only.id } : people;
}

/** Also of a user who was deleted, if the id is one of ours. */
const isUserId = async (deps: StoreDeps & PlacementDeps, typed: string): Promise<boolean> =>
  /^usr_[\w-]{1,64}$/.test(typed) || (mayBeUserId(typed) && (await findUser(deps.db, typed)) !== undefined);

async function usersMeant(deps: StoreDeps & PlacementDeps, typed: string): Promise<Candidates> {
  const { users, next, complete } = await findUsers(deps, { query: typed.slice(0, 100), limit: maxCandidates });
  const candidates = users.map(({ user_id, name, email }) => ({ id: user_id, name: name ?? email, detail: email }));
  return { candidates, hasMore: next !== undefined || !complete };
}

const isAddressOf = ({ detail }: Candidate, typed: string) => emailKey(detail) === emailKey(typed);

/** So many of them a search looks for by an index. */
const maxAdministrators = 100;
const maxRoleChanges = 500;

/**
 * For a filter of their changes: the ids of those who have the role, disabled or not, and of those who had it; and of the service
 * credentials that administer, or did before they were restricted.
 */
export async function knownAdministrators({ db }: Pick<StoreDeps, 'db'>): Promise<readonly string[] | 'any'> {
  const [present, credentials, changes] = await Promise.all([
    listPrivilegedIds(db, maxAdministrators + 1),
    allCredentials({ db }),
    readLogWithoutSealing({ db }, { actions: ['user.role_changed', 'service_credential.restricted'] }, maxRoleChanges),
  ]);
  const administering = credentials.filter(({ permissions }) => isAdministrative(permissions));
  const ids = [
    ...present.map(({ user_id }) => user_id),
    ...administering.map(({ credential_id }) => credential_id),
    ...changes.map(({ target }) => target),
  ];
  const known = [...new Set(ids.filter((id) => id !== null))];
  return known.length > maxAdministrators || changes.length === maxRoleChanges ? 'any' : known;
}

export type FilterProblem = { key: 'admin.audit.filter_problem' | 'admin.audit.address_problem' };

/** @returns a problem for days and places that are none, and for an address that is none. */
export async function filterOf(
  deps: StoreDeps & PlacementDeps,
  { since, until, period, action, actor, target, address, by }: AuditQuery,
  next: string | undefined,
): Promise<AuditFilter | FilterProblem> {
  const from = parseTime(since, 'first');
  const to = parseTime(until, 'last');
  const before = next === undefined ? undefined : placeOfText(deps.db, next);
  if ((since && from === undefined) || (until && to === undefined) || (next !== undefined && !before))
    return { key: 'admin.audit.filter_problem' };
  const place = address === '' ? undefined : addressQuery(address);
  if (address !== '' && !place) return { key: 'admin.audit.address_problem' };
  const administrators = by === byAdministrators ? await knownAdministrators(deps) : undefined;
  const start = from ?? (until === '' && isPeriod(period) ? now(deps) - periods[period] : undefined);
  const group = groupIn(action);
  const kind = group ? { actions: actionGroups[group] } : { action };
  const places = { since: start, until: to, before };
  return { ...kind, actor, target, address: place, administrators, ...places };
}
