import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Deps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { type ClientDeps, loggedState } from '../change-client.ts';
import type { ClientOrigin } from '../choices.ts';
import type { Client } from '../client.ts';
import { findAnyClient } from '../find-clients.ts';
import { insertClientFromOutside } from '../store.ts';
import { insertTerms } from '../terms.store.ts';
import type { ApprovedHost } from './approved-hosts.store.ts';
import type { FromOutside } from './read-metadata.ts';

type Arrival = FromOutside & {
  client_id: string;
  origin: ClientOrigin;
  /** Of the request that brought it. */
  address: string;
  /** Where an administrator has approved in advance what comes from its host. */
  host?: ApprovedHost | undefined;
  /** Committed with it. */
  also?: readonly Sql[];
};

/** Reviews are made by hand, and what is not reviewed goes after days. */
const tooMany = () => refusal('rate_limited', { key: 'outside.too_many' }, { retryAfter: 3600 });

/**
 * A client that no user has registered here. It waits for a review; one of a host that was approved in advance starts approved, with
 * those of its scopes that were approved. How many come in an hour, and wait in all, is decided in the change.
 * @returns it, or the one that another request has brought meanwhile.
 * @throws {RequestError} `rate_limited`.
 */
export async function registerFromOutside(deps: ClientDeps & Pick<Deps, 'config'>, arrival: Arrival): Promise<Client> {
  const { client_id, origin, address, registration, also = [] } = arrival;
  const { outsideClientsPerHour: limit, unreviewedClients } = deps.config.limits;
  const approved = approvedScopes(arrival);
  const at = now(deps);
  const draft: Omit<Client, 'event_id'> = {
    ...registration,
    ...(approved && { allowed_scopes: approved }),
    client_id,
    owner_user_id: null,
    is_first_party: false,
    origin,
    refresh_retry_window: 0,
    consent: 'required', // no user answers for it
    profile: null,
    allowed_groups: null,
    visible_groups: null,
    logo_id: null,
    status: approved ? 'approved' : 'pending_review',
    status_reason: null,
    revision: 1,
    pending_change: null,
    review_asked_at: null,
    created_at: at,
    updated_at: at,
    secrets: [],
  };
  const reason = approved && 'Its host is approved in advance.';
  const after = { ...loggedState(draft), origin };
  const event = auditEvent(
    { action: 'client.registered', actor: 'system', address, target: client_id, reason, after },
    at,
  );
  const client: Client = { ...draft, event_id: event.event_id };
  // What was approved in advance has an hour of its own, so that an attacker cannot keep it out.
  const arrivals = windowLimit(deps, { name: 'outside-clients', limit, windowSeconds: 3600 });
  const done = await deps.db.shared.change({
    run: {
      limit: arrivals.taken(approved && arrival.host ? `host ${arrival.host.host}` : 'all'),
      client: mayConflict(mustChange(insertClientFromOutside(client, unreviewedClients))),
      terms: insertTerms(client_id, client.name),
      event: event.statement,
      also,
    },
  });
  deps.clients.forget(client_id);
  if (done.ok) return client;
  if (done.failed === 'limit') throw tooMany();
  return findAnyClient(deps, client_id).catch(() => {
    throw tooMany();
  });
}

/** @returns undefined unless its host was approved for some of what it asks for; who names no scopes asks for those of the host. */
function approvedScopes({ host, registration, namesScopes }: Arrival): Client['allowed_scopes'] | undefined {
  if (!host) return undefined;
  const wanted: readonly string[] = registration.allowed_scopes;
  const scopes = host.allowed_scopes.filter((scope) => !namesScopes || wanted.includes(scope));
  return scopes.length === 0 ? undefined : (scopes as Client['allowed_scopes']);
}
