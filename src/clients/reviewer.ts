import {
  formatUtc,
  isUnprivilegedUser,
  listAdministrators,
  newAdministratorUntil,
} from '../accounts/administrators.ts';
import { actorsSince } from '../audit/read-log.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import type { Client } from './client.ts';

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
export async function refuseSelfApproval(deps: ReviewDeps, actor: string, client: Client): Promise<void> {
  const problem = await reviewerProblem(deps, actor, client);
  if (problem !== undefined) throw refusal('access_denied', problem);
}

async function reviewerProblem(
  deps: ReviewDeps,
  actor: string,
  client: Client,
): Promise<MessageDescriptor | undefined> {
  if (deps.config.selfApproval || !actor.startsWith('user:')) return undefined;
  const user_id = actor.slice('user:'.length);
  const { owner_user_id } = client;
  if (owner_user_id === user_id) return { key: 'clients.own_approval' };
  const requesters = owner_user_id === null ? await requestersOf(deps, client) : [];
  if (requesters.includes(actor)) return { key: 'clients.own_change' };
  const newUntil = await newAdministratorUntil(deps, user_id);
  if (newUntil === undefined) return undefined;
  const isOfNoColleague =
    owner_user_id === null
      ? client.is_first_party && !requesters.some((asker) => asker.startsWith('user:')) // an owner who is gone may have been anybody
      : await isUnprivilegedUser(deps, owner_user_id);
  return isOfNoColleague ? undefined : { key: 'clients.new_administrator', values: { when: formatUtc(newUntil) } };
}

/** Why an administrator may not approve a client, and whether anybody else could. */
export type ReviewerProblem = { userMessage: MessageDescriptor; isOnlyAdministrator: boolean };

/** For a page that offers only what would work. @returns undefined if {@link refuseSelfApproval} would let them. */
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

/** Who has registered or edited it since it was last approved. */
const requestersOf = ({ db }: ReviewDeps, { client_id }: Client): Promise<string[]> =>
  actorsSince(db, client_id, {
    did: ['client.registered', 'client.edited', 'client.change_requested'],
    since: ['client.approved', 'client.change_approved'],
  });
