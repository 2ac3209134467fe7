import { auditEvent, readReason } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { type Db, inOrder } from '../platform/db/db.ts';
import type { Edited } from '../platform/edited.ts';
import { fieldProblem, invalidFields, invalidState, staleRevision } from '../platform/errors.ts';
import { type ClientDeps, type ClientTarget, changeClient, sameJson } from './change-client.ts';
import {
  acrValuesFor,
  type ClientStatus,
  type ConsentPolicy,
  type Profile,
  type SecondFactor,
  type SigningAlgorithm,
  secondFactorOf,
} from './choices.ts';
import {
  asLogged,
  type Client,
  needsConsentChoice,
  needsReview,
  pick,
  proposalOf,
  type ReviewedFields,
  reviewedFields,
} from './client.ts';
import { readClientGroups } from './client-groups.ts';
import type { Deps } from './deps.ts';
import { findAnyClient } from './find-clients.ts';
import { chooseLogo, unseenLogoOf } from './logos.ts';
import { requireProfile } from './profile.ts';
import { mailToOwner } from './review-mails.ts';
import { refuseSelfApproval } from './reviewer.ts';
import { lockClient, setClientStatus } from './store.ts';

// What administrators do with a client (decisions §11). Each refuses with invalidState, which has the current status, and
// each is in the audit log exactly once, however many administrators do it at the same time.

/** Policy that is left out stays; that of a client that was never approved is `skip` and 0 seconds (decisions §9, §7). */
type Approval = PolicyChange & {
  /** The one that was read. A later edit must be read first. */
  revision: number;
  /** Some of the requested scopes. Left out: all of them. */
  allowed_scopes?: readonly string[];
  /** What the client asks of its users, if not what its owner requested. */
  second_factor?: SecondFactor;
  /** Refuses an approval without `consent`, of a client that is not first-party: for forms, which have no default. */
  consentMustBeChosen?: boolean;
};

type DecisionDeps = ClientDeps & Pick<Deps, 'config' | 'mail'>;
type ReviewDeps = DecisionDeps & Pick<Deps, 'grants'>;
type ApprovalDeps = ReviewDeps & Pick<Deps, 'scopes'>;

/**
 * A client in review may start sign-ins; a pending change takes effect.
 * @throws staleRevision if the owner edited it since; invalidState if it is not in review; invalidFields for a
 * policy or scopes that cannot be; accessDenied as {@link refuseSelfApproval} says.
 */
export async function approveClient(deps: ApprovalDeps, target: ClientTarget, wanted: Approval): Promise<Client> {
  const approval = await readPolicy(deps, wanted);
  return changeClient(deps, target, async (client) => {
    await refuseSelfApproval(deps, target.caller.actor, client);
    if (!needsReview(client)) throw invalidState(client.status);
    if (client.revision !== approval.revision) throw staleRevision(client.revision);
    refuseSkippedConsent(client, approval);
    if (approval.consentMustBeChosen && approval.consent === undefined && needsConsentChoice(client)) {
      throw invalidFields([fieldProblem('consent', { key: 'problem.client.consent' })]);
    }
    const decision = client.status === 'approved' ? 'change_approved' : 'approved';
    const logo = await chooseLogo(deps, client, proposalOf(client), approval.logo_id);
    const to = {
      ...client.pending_change,
      ...(await reviewedScopes(deps, client, approval.allowed_scopes)),
      ...reviewedFactor(client, approval.second_factor),
      pending_change: null,
      note_to_reviewer: null,
      review_asked_at: null,
      status: 'approved',
      status_reason: null,
      ...policyAfter(client, approval),
      logo_id: logo.logo_id,
    } as const;
    requireProfile({ ...client, ...to });
    return {
      action: `client.${decision}`,
      also: [...logo.also, ...(await mailToOwner(deps, target, client, decision))],
      to,
    };
  });
}

/**
 * A client in review becomes `rejected`, until its owner edits it. Of an approved client only the pending change is
 * rejected: the approved revision stays in effect. The log keeps what was rejected, so that the reviewer of the next
 * revision sees what has changed since.
 * @param revision the one that was read; left out: the current one.
 * @throws staleRevision if the owner edited it since; invalidState if it is not in review.
 */
export async function rejectClient(
  deps: DecisionDeps,
  target: ClientTarget,
  reason: string,
  revision?: number,
): Promise<Client> {
  const status_reason = readReason(reason);
  return changeClient(deps, target, async (client) => {
    if (!needsReview(client)) throw invalidState(client.status);
    if (revision !== undefined && revision !== client.revision) throw staleRevision(client.revision);
    const after = { rejected: { revision: client.revision, ...asLogged(pick(proposalOf(client), reviewedFields)) } };
    const decision = client.status === 'approved' ? 'change_rejected' : 'rejected';
    return {
      action: `client.${decision}`,
      reason: status_reason,
      after,
      to: {
        ...(client.status === 'approved' ? { pending_change: null } : { status: 'rejected' }),
        note_to_reviewer: null,
        review_asked_at: null,
        status_reason,
      },
      also: await mailToOwner(deps, target, client, decision, status_reason),
    };
  });
}

/** Revokes every grant that users gave to the client, too. */
export async function suspendClient(deps: ReviewDeps, target: ClientTarget, why: string): Promise<Client> {
  const reason = readReason(why);
  return changeStatus(deps, target, { decision: 'suspended', reason, from: 'approved', to: 'suspended' });
}

/** A suspended client may start sign-ins again. Its old tokens stay revoked. */
export const reinstateClient = (deps: ReviewDeps, target: ClientTarget): Promise<Client> =>
  changeStatus(deps, target, {
    decision: 'reinstated',
    from: 'suspended',
    to: 'approved',
    allow: (client) => refuseSelfApproval(deps, target.caller.actor, client),
  });

type StatusChange = {
  decision: 'suspended' | 'reinstated';
  reason?: string;
  from: ClientStatus;
  to: ClientStatus;
  allow?: (client: Client) => Promise<void>;
};

/**
 * Only the status is compared: an owner who edits without pause cannot prevent a suspension, as a compare-and-swap of the
 * whole client would allow, and no edit is lost by it. Grants are revoked at the reinstatement, too, for the code that
 * another node was writing at the instant of the suspension.
 * @throws notFound; invalidState unless its status is `from`; whatever `allow` throws.
 */
async function changeStatus(
  deps: ReviewDeps,
  target: ClientTarget,
  { decision, reason, from, to, allow }: StatusChange,
): Promise<Client> {
  const { client_id, caller } = target;
  const seen = await findAnyClient(deps, client_id);
  await allow?.(seen);
  if (seen.status !== from) throw invalidState(seen.status);
  const at = now(deps);
  const states = { before: { status: from }, after: { status: to } };
  const event = auditEvent({ action: `client.${decision}`, ...caller, target: client_id, reason, ...states }, at);
  const changed = { status: to, status_reason: reason ?? null, event_id: event.event_id, updated_at: at };
  const grants = deps.grants.revokeOfClient(client_id, 'client_suspended', at);
  const mails = await mailToOwner(deps, target, seen, decision, reason);
  const { shared, parts } = deps.db;
  const decided = {
    client: mustChange(setClientStatus(client_id, from, changed)),
    event: event.statement,
    mails,
  };
  // No token ends of a client that stays approved, and none is left of one that is approved again.
  const isApproval = to === 'approved';
  const done = await inOrder(
    { in: shared, lock: lockClient(client_id), run: isApproval ? {} : decided },
    { in: parts, run: { grants: grants.inEachPart } },
    { in: shared, run: { ...(isApproval && decided), epoch: grants.shared } },
  );
  deps.clients.forget(client_id);
  const client = await findAnyClient(deps, client_id);
  if (!done.ok) throw invalidState(client.status);
  return client;
}

/** No user answers for a client that came by itself, so its users are always asked. @throws invalidFields */
function refuseSkippedConsent({ origin }: Client, { consent }: PolicyChange): void {
  if (origin !== null && consent === 'skip')
    throw invalidFields([fieldProblem('consent', { key: 'problem.client.consent.outside' })]);
}

/**
 * An approval may take scopes away, and never adds one that its owner did not request. What a client that came by itself may ask for is
 * for its reviewer to say: most of them name no scopes.
 */
async function reviewedScopes(
  deps: Pick<Deps, 'scopes'>,
  client: Client,
  wanted: Approval['allowed_scopes'],
): Promise<Partial<ReviewedFields>> {
  if (wanted === undefined) return {};
  const requested: readonly string[] =
    client.origin === null
      ? proposalOf(client).allowed_scopes
      : (await deps.scopes.read()).list().map(({ name }) => name);
  const allowed_scopes = requested.filter((scope) => wanted.includes(scope)) as Client['allowed_scopes'];
  if (allowed_scopes.length === 0 || !wanted.every((scope) => requested.includes(scope))) {
    throw invalidFields([fieldProblem('allowed_scopes', { key: 'problem.client.narrowed_scopes' })]);
  }
  return { allowed_scopes };
}

/** What is requested already stays as it is spelled. */
const reviewedFactor = (client: Client, wanted: SecondFactor | undefined): Partial<ReviewedFields> =>
  wanted === undefined || wanted === secondFactorOf(proposalOf(client).default_acr_values)
    ? {}
    : { default_acr_values: [...acrValuesFor(wanted)] };

/** What administrators decide about a client beside what its owner requests. Left out: unchanged. */
type PolicyChange = {
  consent?: ConsentPolicy;
  /** Seconds, 0 to 60. */
  refresh_retry_window?: number;
  /** Null: none. */
  profile?: Profile | null;
  /** Ids or names. Null: everyone may use the client. */
  allowed_groups?: readonly string[] | null;
  /** Ids or names. Null: it sees all groups of its users. */
  visible_groups?: readonly string[] | null;
  /** The picture of it that was seen; null: none. */
  logo_id?: string | null;
};

/** With groups by their ids. */
type ReadPolicy<Change extends PolicyChange> = Omit<Change, 'allowed_groups' | 'visible_groups'> &
  Partial<Pick<Client, 'allowed_groups' | 'visible_groups'>>;

/** @throws invalidFields for a retry window that is none, and for unknown groups. */
async function readPolicy<Change extends PolicyChange>(deps: { db: Db }, change: Change): Promise<ReadPolicy<Change>> {
  checkPolicy(change);
  return { ...change, ...(await readClientGroups(deps, change)) } as ReadPolicy<Change>;
}

function checkPolicy({ refresh_retry_window = 0 }: PolicyChange): void {
  if (Number.isInteger(refresh_retry_window) && refresh_retry_window >= 0 && refresh_retry_window <= 60) return;
  throw invalidFields([fieldProblem('refresh_retry_window', { key: 'problem.client.refresh_retry_window' })]);
}

/** Of an approved client also what its owner registered but an administrator may have to mend: libraries differ in it. */
type ApprovedPolicyChange = PolicyChange & { id_token_signed_response_alg?: SigningAlgorithm };

const approvedPolicyAfter = (
  client: Client,
  change: ReadPolicy<ApprovedPolicyChange>,
): Required<Omit<ReadPolicy<ApprovedPolicyChange>, 'logo_id'>> => ({
  ...policyAfter(client, change),
  id_token_signed_response_alg: change.id_token_signed_response_alg ?? client.id_token_signed_response_alg,
});

const policyAfter = (
  client: Client,
  change: ReadPolicy<PolicyChange>,
): Required<Omit<ReadPolicy<PolicyChange>, 'logo_id'>> => ({
  consent: change.consent ?? client.consent,
  refresh_retry_window: change.refresh_retry_window ?? client.refresh_retry_window,
  profile: change.profile === undefined ? client.profile : change.profile,
  allowed_groups: change.allowed_groups === undefined ? client.allowed_groups : change.allowed_groups,
  visible_groups: change.visible_groups === undefined ? client.visible_groups : change.visible_groups,
});

/**
 * Changes the policy of a client that has been approved, suspended ones included. The revision stays,
 * unless the algorithm changes: an edit of its owner that was begun before would otherwise set that back.
 *
 * @returns the client as it is now, and whether this has changed it: not, and without an audit event, if that is the policy
 * already.
 * @throws notFound; invalidState for a client that was never approved; invalidFields; as {@link refuseSelfApproval}, since
 * an administrator who may not approve a client may not loosen its policy either.
 */
export async function changePolicy(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: ClientTarget,
  wanted: ApprovedPolicyChange,
): Promise<Edited<Client>> {
  const change = await readPolicy(deps, wanted);
  let isChanged = false;
  const after = await changeClient(deps, target, async (client) => {
    await refuseSelfApproval(deps, target.caller.actor, client);
    if (client.status !== 'approved' && client.status !== 'suspended') throw invalidState(client.status);
    refuseSkippedConsent(client, change);
    const logo =
      change.logo_id === undefined
        ? { logo_id: client.logo_id, also: [] }
        : await chooseLogo(deps, client, client, change.logo_id);
    const to = { ...approvedPolicyAfter(client, change), logo_id: logo.logo_id };
    isChanged = !sameJson(to, { ...approvedPolicyAfter(client, {}), logo_id: client.logo_id });
    const declined = change.logo_id === null && !isChanged ? await unseenLogoOf(deps, client) : undefined;
    isChanged ||= declined !== undefined;
    if (!isChanged) return undefined;
    requireProfile({ ...client, ...to });
    const isRegistered = to.id_token_signed_response_alg !== client.id_token_signed_response_alg;
    const revision = isRegistered && { revision: client.revision + 1 };
    const said = declined !== undefined && { after: { declined_logo: declined } };
    return { action: 'client.policy_changed', to: { ...to, ...revision }, also: logo.also, ...said };
  });
  return { after, isChanged };
}
