import { formatUtc, newAdministratorUntil } from '../../accounts/administrators.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { holdersOf } from '../../entitlements/service-credentials/holders.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange } from '../../platform/db/change.ts';
import type { Deps as PlatformDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields, notFound, refusal } from '../../platform/errors.ts';
import { sameJson } from '../change-client.ts';
import type { Deps } from '../deps.ts';
import { hostOfMetadata, isMetadataUrl } from '../metadata-url.ts';
import { type ApprovedHost, deleteHost, insertHost, listHosts, readHost, updateHost } from './approved-hosts.store.ts';

/** Far more than are ever approved by hand. */
export const maxHosts = 500;

type HostDeps = Pick<PlatformDeps, 'db' | 'clock' | 'config'> & Pick<Deps, 'scopes' | 'metadataDocuments'>;

/** By name. */
export const findHosts = ({ db }: Pick<PlatformDeps, 'db'>): Promise<ApprovedHost[]> => listHosts(db, maxHosts);

/**
 * Clients whose metadata document is at this host start approved from now on, with these scopes at most; or with others than before,
 * which clients that are here already do not notice.
 * @returns the host, and whether anything has changed.
 * @throws {RequestError} `invalid_request` for what is no host or no scope; `access_denied` to a new administrator, who could bring
 * a client of their own so.
 */
export async function approveHost(
  deps: HostDeps,
  caller: Caller,
  wanted: { host: string; allowed_scopes: readonly string[] },
): Promise<{ after: ApprovedHost; isChanged: boolean }> {
  const host = wanted.host.trim().toLowerCase();
  const scopes = (await deps.scopes.read()).list().map(({ name }) => name);
  const allowed_scopes = scopes.filter((name) => wanted.allowed_scopes.includes(name));
  const problems = [
    ...(isHost(host) ? [] : [fieldProblem('host', { key: 'problem.host' })]),
    ...(allowed_scopes.length > 0 && wanted.allowed_scopes.every((name) => scopes.includes(name))
      ? []
      : [fieldProblem('allowed_scopes', { key: 'problem.host.scopes' })]),
  ];
  if (problems.length > 0) throw invalidFields(problems);
  await refuseNewAdministrator(deps, caller);
  const seen = await readHost(deps.db, host);
  if (seen && sameJson(seen.allowed_scopes, allowed_scopes)) return { after: seen, isChanged: false };
  const at = now(deps);
  const states = { before: seen && { allowed_scopes: seen.allowed_scopes }, after: { allowed_scopes } };
  const event = auditEvent({ action: 'client_host.approved', ...caller, target: host, ...states }, at);
  const after: ApprovedHost = {
    host,
    allowed_scopes,
    event_id: event.event_id,
    created_at: seen?.created_at ?? at,
    updated_at: at,
  };
  const written = seen ? mustChange(updateHost(after, seen)) : mayConflict(mustChange(insertHost(after, maxHosts)));
  const done = await deps.db.shared.change({ run: { written, event: event.statement } });
  deps.metadataDocuments.forgetHost(host);
  if (done.ok) return { after, isChanged: true };
  if (seen || (await readHost(deps.db, host))) return approveHost(deps, caller, wanted); // another was quicker
  throw invalidFields([fieldProblem('host', { key: 'problem.host.many', values: { max: maxHosts } })]);
}

/** Whether a metadata document may be there. @param text in small letters. */
export const isHost = (text: string): boolean =>
  isMetadataUrl(`https://${text}/`) && hostOfMetadata(`https://${text}/`) === text;

/** Further clients of the host wait for a review again; those that are approved stay so. @throws {RequestError} `not_found`. */
export async function removeHost(deps: HostDeps, caller: Caller, host: string): Promise<void> {
  const seen = await readHost(deps.db, host);
  if (!seen) throw notFound();
  const before = { allowed_scopes: seen.allowed_scopes };
  const event = auditEvent({ action: 'client_host.removed', ...caller, target: host, before }, now(deps));
  const done = await deps.db.shared.change({ run: { host: mustChange(deleteHost(host)), event: event.statement } });
  deps.metadataDocuments.forgetHost(host);
  if (!done.ok) throw notFound();
}

/** As for the approval of a client: else an administrator could promote an accomplice who approves their host. */
async function refuseNewAdministrator(deps: HostDeps, { actor }: Caller): Promise<void> {
  if (deps.config.selfApproval) return;
  for (const one of [actor, ...(await holdersOf(deps, actor))]) {
    const until = one.startsWith('user:') ? await newAdministratorUntil(deps, one.slice('user:'.length)) : undefined;
    if (until !== undefined)
      throw refusal('access_denied', { key: 'clients.new_administrator', values: { when: formatUtc(until) } });
  }
}
