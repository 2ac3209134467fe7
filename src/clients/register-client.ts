import { isThere, lockUser } from '../accounts/statements.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import { inOrder } from '../platform/db/db.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { fieldProblem, invalidFields, loginRequired } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { windowLimit } from '../platform/limits/failure-limits.ts';
import { usesSecret } from './authentication-methods.ts';
import { type ClientDeps, loggedState, tooManyPending } from './change-client.ts';
import type { Client } from './client.ts';
import { firstLogo } from './logos.ts';
import { newClientSecret, newSecretRow } from './manage-secrets.ts';
import type { Registration } from './registration.ts';
import { requireKnownScopes } from './scopes.ts';
import { admitClient, deleteDeletedClient, insertClient, insertDraft, insertSecret, lockClientsOf } from './store.ts';
import { insertTerms } from './terms.store.ts';

/**
 * A new client, pending review (specification §3.1).
 * @param of.owner_user_id null for a first-party client, which administrators and the command line register and change.
 * @param of.client_id that of one which comes from another product, or that an operator has chosen: one for which `isForeignClientId` holds. @param of.client_secret of a client that uses one; left out: a new one.
 * @returns the client, and its secret if it uses one, which is not readable afterwards.
 * @throws loginRequired if the owner's account has been deleted meanwhile; invalidFields for a scope that does not exist, and for a client_id that is taken; rateLimited for too many of an owner within an hour, and when too many of the owner's are in review already.
 */
export async function registerClient(
  deps: ClientDeps & Pick<Deps, 'config'>,
  of: { owner_user_id: string | null; caller: Caller; client_id?: string; client_secret?: string | undefined },
  registration: Registration,
): Promise<{ client: Client; client_secret: string | null }> {
  await requireKnownScopes(deps, registration.allowed_scopes);
  const { registrationsPerHour: limit } = deps.config.limits;
  if (of.owner_user_id !== null) {
    await windowLimit(deps, { name: 'client-registration', limit, windowSeconds: 3600 }).take(of.owner_user_id);
  }
  const at = now(deps);
  const client_id = of.client_id ?? newId('cl');
  const client_secret = usesSecret(registration) ? (of.client_secret ?? newClientSecret()) : null;
  const secrets = client_secret === null ? [] : [newSecretRow(client_secret, at)];
  const draft: Omit<Client, 'event_id'> = {
    ...registration,
    client_id,
    owner_user_id: of.owner_user_id,
    is_first_party: of.owner_user_id === null,
    origin: null,
    refresh_retry_window: 0, // decisions §7: strict by default
    consent: 'skip', // decisions §9: until an administrator says otherwise
    profile: null,
    allowed_groups: null,
    visible_groups: null,
    logo_id: null,
    status: 'pending_review',
    status_reason: null,
    revision: 1,
    pending_change: null,
    review_asked_at: null,
    created_at: at,
    updated_at: at,
    secrets,
  };
  const event = auditEvent(
    {
      action: 'client.registered',
      ...of.caller,
      target: client_id,
      reason: draft.note_to_reviewer ?? undefined,
      after: loggedState(draft),
    },
    at,
  );
  const client: Client = { ...draft, event_id: event.event_id };
  const done = await insert(deps, client, {
    terms: insertTerms(client_id, client.name),
    logo: firstLogo(client, at),
    secrets: secrets.map((secret) => insertSecret({ ...secret, client_id })),
    event: event.statement,
  });
  deps.clients.forget(client_id);
  if (done.ok) return { client, client_secret };
  if (done.failed === 'owner') throw loginRequired();
  if (await deps.clients.find(client_id))
    throw invalidFields([fieldProblem('client_id', { key: 'problem.client_id.taken' })]);
  throw tooManyPending();
}

type Rows = { terms: readonly Sql[]; logo: readonly Sql[]; secrets: readonly Sql[]; event: Sql };

/**
 * In one change, or, where the owner is in another part, as a draft, which no read returns and a job deletes if nothing follows. It is let in once
 * the owner has been found to be there. The deletion of an account takes its clients from it, drafts too, so that none is let in
 * afterwards.
 */
async function insert(deps: Pick<Deps, 'db' | 'config'>, client: Client, { terms, logo, secrets, event }: Rows) {
  const { db, config } = deps;
  const { pendingClients: max } = config.limits;
  const { client_id, owner_user_id } = client;
  const { shared } = db;
  const owner =
    owner_user_id === null
      ? undefined
      : {
          in: db.of(owner_user_id),
          lock: lockUser(owner_user_id),
          require: { owner: isThere(owner_user_id) },
          run: {},
        };
  if (owner === undefined || owner_user_id === null || owner.in === shared) {
    return inOrder(owner, {
      in: shared,
      run: { client: mayConflict(mustChange(insertClient(client, max))), terms, logo, secrets, event },
    });
  }
  const done = await inOrder(
    { in: shared, run: { draft: mayConflict(insertDraft(client)), terms, logo, secrets } },
    owner,
    {
      in: shared,
      lock: lockClientsOf(owner_user_id, client),
      run: { client: mustChange(admitClient(client, max)), event },
    },
  );
  if (done.ok || done.failed === 'draft') return done;
  await deleteDeletedClient(db, client_id);
  return done.failed === 'client' && !(await owner.in.holds(isThere(owner_user_id)))
    ? ({ ok: false, failed: 'owner' } as const)
    : done;
}
