import { formatUtc, isUnprivilegedUser, newAdministratorUntil } from '../accounts/administrators.ts';
import { listAdministrators } from '../accounts/statements.ts';
import { actorsSince, hasActed } from '../audit/read-log.ts';
import { holdersOf } from '../entitlements/service-credentials/holders.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import type { Client } from './client.ts';

type ReviewDeps = Pick<Deps, 'db' | 'clock' | 'config'>;

/**
 * Separation of duties: administrators approve neither their own clients, nor what they have requested for a client
 * without an owner, nor clients of a user for whom they have made a link to a new password or changed the address, with which
 * they could have signed in as that user. The command line is the operator, who is not restricted.
 *
 * A user who was made an administrator within the last day, by another one, approves only what was requested by users who
 * were not administrators within that day. Else an administrator could promote an accomplice who approves what they
 * registered, also through further accomplices, or have one demote them for the moment of the approval. Who promoted whom
 * is not checked, since each link of such a chain can be new.
 *
 * A service credential does what those do who hold it: neither they nor it approve what the other could have requested.
 * @throws {RequestError} `access_denied`.
 */
export async function refuseSelfApproval(deps: ReviewDeps, actor: string, client: Client): Promise<void> {
  const problem = await reviewerProblem(deps, actor, client);
  if (problem !== undefined) throw refusal('access_denied', problem);
}

async function reviewerProblem(
  deps: ReviewDeps,
  actor: string,
  client: Client,
): Promise<MessageDescriptor | undefined> {
  if (deps.config.selfApproval || !/^(user|service):/.test(actor)) return undefined;
  const requesters = client.owner_user_id === null ? await requestersOf(deps, client) : [];
  for (const one of [actor, ...(await holdersOf(deps, actor))]) {
    const problem = await problemOfOne(deps, one, client, requesters);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

async function problemOfOne(
  deps: ReviewDeps,
  actor: string,
  client: Client,
  requesters: readonly string[],
): Promise<MessageDescriptor | undefined> {
  if (actor.startsWith('service:') && requesters.includes(actor)) return { key: 'clients.own_change' };
  if (!actor.startsWith('user:')) return undefined;
  const user_id = actor.slice('user:'.length);
  const { owner_user_id } = client;
  if (owner_user_id === user_id) return { key: 'clients.own_approval' };
  if (owner_user_id !== null && (await couldEnter(deps, actor, owner_user_id))) return { key: 'clients.own_access' };
  if (requesters.includes(actor)) return { key: 'clients.own_change' };
  const newUntil = await newAdministratorUntil(deps, user_id);
  if (newUntil === undefined) return undefined;
  const isIndependent =
    owner_user_id === null
      ? client.is_first_party && !requesters.some((requester) => requester.startsWith('user:')) // a deleted owner may have been an administrator
      : await isUnprivilegedUser(deps, owner_user_id);
  return isIndependent ? undefined : { key: 'clients.new_administrator', values: { when: formatUtc(newUntil) } };
}

/** Why an administrator may not approve a client, and whether there is no other one. */
export type ReviewerProblem = { userMessage: MessageDescriptor; isOnlyAdministrator: boolean };

/** @returns undefined if {@link refuseSelfApproval} does not refuse them. */
export async function readReviewerProblem(
  deps: ReviewDeps,
  user_id: string,
  client: Client,
): Promise<ReviewerProblem | undefined> {
  const userMessage = await reviewerProblem(deps, `user:${user_id}`, client);
  if (userMessage === undefined) return undefined;
  const administrators = await listAdministrators(deps.db);
  return { userMessage, isOnlyAdministrator: administrators.every((one) => one.user_id === user_id) };
}

/**
 * Who could have signed in as the owner could have registered and edited everything in their name. An account that an
 * administrator has opened with an invitation of their own is not recognized: nor is one with another mailbox of theirs.
 */
const couldEnter = (deps: ReviewDeps, actor: string, user_id: string): Promise<boolean> =>
  hasActed(deps, { actor, target: user_id, did: ['password.reset_link_created', 'email.changed', 'email.verified'] });

/** Who has registered or edited it since it was last approved, or could have by a service credential that has. */
async function requestersOf(deps: ReviewDeps, { client_id }: Client): Promise<string[]> {
  const actors = await actorsSince(deps, client_id, {
    did: ['client.registered', 'client.edited', 'client.change_requested'],
    since: ['client.approved', 'client.change_approved'],
  });
  const holders = await Promise.all(actors.map((actor) => holdersOf(deps, actor)));
  return [...actors, ...holders.flat()];
}
