import { actorsSince } from '../audit/store.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { refusal } from '../errors.ts';
import { findRoleGrant } from '../users/store.ts';
import type { Client } from './client.ts';

/** So long after a role was given or taken, the other administrators have had time to read their mail about it. */
const newRoleSeconds = 86_400;

type ReviewDeps = Pick<Deps, 'db' | 'clock' | 'config'>;

/**
 * Two people stand behind every client that may start logins: nobody approves their own, nor what they have asked for in
 * a client without an owner. The command line is the operator, who may anything.
 *
 * Whoever was made an administrator within the last day, by another one, approves only what no administrator has asked
 * for, nor anybody who was one within that day. Else an administrator could make an accomplice who approves what they
 * registered, or an accomplice of the accomplice, or have one demote them for the moment of the approval. Who made whom
 * is not asked: each link of a chain can be made anew.
 *
 * @param client as it is when the decision is made.
 * @throws {RequestError} `access_denied`.
 */
export async function refuseOwn(deps: ReviewDeps, actor: string, client: Client): Promise<void> {
  if (deps.config.selfApproval || !actor.startsWith('user:')) return;
  const user_id = actor.slice('user:'.length);
  const { owner_user_id } = client;
  if (owner_user_id === user_id) throw refusal('access_denied', { key: 'clients.own_approval' });
  const askers = owner_user_id === null ? await askersOf(deps, client) : [];
  if (askers.includes(actor)) throw refusal('access_denied', { key: 'clients.own_change' });
  if (!(await isNewlyMade(deps, user_id))) return;
  const isOfNoColleague =
    owner_user_id === null
      ? client.of_house && !askers.some((asker) => asker.startsWith('user:')) // an owner who is gone may have been anybody
      : await isPlainPerson(deps, owner_user_id);
  if (!isOfNoColleague) throw refusal('access_denied', { key: 'clients.new_administrator' });
}

/** Who has registered or edited it since it was last approved. */
const askersOf = ({ db }: ReviewDeps, { client_id }: Client): Promise<string[]> =>
  actorsSince(db, client_id, {
    did: ['client.registered', 'client.edited', 'client.change_requested'],
    since: ['client.approved', 'client.change_approved'],
  });

async function isNewlyMade(deps: ReviewDeps, user_id: string): Promise<boolean> {
  const grant = await findRoleGrant(deps.db, user_id);
  return grant?.role_granted_by?.startsWith('user:') === true && isNew(deps, grant.role_granted_at);
}

async function isPlainPerson(deps: ReviewDeps, user_id: string): Promise<boolean> {
  const grant = await findRoleGrant(deps.db, user_id);
  return grant?.role === 'user' && !isNew(deps, grant.role_granted_at);
}

const isNew = (deps: ReviewDeps, role_granted_at: number | null): boolean =>
  role_granted_at !== null && now(deps) - role_granted_at < newRoleSeconds;
