import { findUser, type User } from '../accounts/users.ts';
import { isDigestOnly, toLoggedValue } from '../audit/audit.ts';
import { newestAuditRowOf } from '../audit/read-log.ts';
import { sameJson } from './change-client.ts';
import {
  type Client,
  needsReview,
  proposedFields,
  type ReviewedFields,
  reviewedFields,
  reviewedRecord,
} from './client.ts';
import type { Deps } from './deps.ts';
import { findAnyClient } from './find-clients.ts';
import { type Risk, riskSignals } from './risk-signals.ts';

/** One field that its owner wants different. */
export type FieldChange = { field: keyof ReviewedFields; before: unknown; after: unknown };

/** The version before the one that waits, if that was turned down. */
export type LastRejection = {
  /** Unix seconds. */
  at: number;
  reason: string | null;
  revision: number;
  /** What its owner wants different since, the rejected version as `before`. */
  changes: FieldChange[];
};

/** All that an administrator decides by. */
export type ClientReview = {
  client: Client;
  /** Undefined for a first-party client, and once the owner's account is deleted. */
  owner: User | undefined;
  /** Empty unless a change waits. */
  changes: FieldChange[];
  risks: Risk[];
  lastRejection: LastRejection | undefined;
};

/** @throws {RequestError} `not_found`. */
export async function clientReview(deps: Pick<Deps, 'db' | 'riskContext'>, client_id: string): Promise<ClientReview> {
  const client = await findAnyClient(deps, client_id);
  const [owner, context, lastRejection] = await Promise.all([
    client.owner_user_id === null ? undefined : findUser(deps.db, client.owner_user_id),
    deps.riskContext(),
    needsReview(client) ? lastRejectionOf(deps, client) : undefined,
  ]);
  return { client, owner, changes: changesOf(client), risks: riskSignals(client, context), lastRejection };
}

/** A review as programs read it. */
export const reviewRecord = ({ client, owner, changes, risks, lastRejection }: ClientReview) => ({
  ...reviewedRecord(client),
  owner: owner ? { user_id: owner.user_id, email: owner.email, name: owner.name } : null,
  changes,
  risks,
  last_rejection: lastRejection ?? null,
});

const decisions = ['client.rejected', 'client.change_rejected', 'client.approved', 'client.change_approved'];

/** The row of a client that was edited has forgotten what stood against it; the audit log has not. */
async function lastRejectionOf({ db }: Pick<Deps, 'db'>, client: Client): Promise<LastRejection | undefined> {
  const decision = await newestAuditRowOf(db, client.client_id, decisions);
  const { rejected } = JSON.parse(decision?.after_state ?? '{}') as {
    rejected?: ReviewedFields & { revision: number };
  };
  if (decision === undefined || rejected === undefined) return undefined;
  const wanted = proposedFields(client);
  const changes = reviewedFields
    .filter(
      (field) =>
        !sameJson(rejected[field], isDigestOnly(rejected[field]) ? toLoggedValue(wanted[field]) : wanted[field]),
    )
    // Of a very long one the log keeps only whether it is still the same.
    .map((field) => ({ field, before: isDigestOnly(rejected[field]) ? null : rejected[field], after: wanted[field] }));
  return { at: decision.at, reason: decision.reason, revision: rejected.revision, changes };
}

/** Side by side, what serves and what is wanted. */
export const changesOf = (client: Client): FieldChange[] =>
  reviewedFields.flatMap((field) => {
    const after = client.pending_change?.[field];
    return after === undefined || sameJson(after, client[field]) ? [] : [{ field, before: client[field], after }];
  });

type RiskDeps = Pick<Deps, 'db' | 'riskContext'>;

/** Each one is compared with thousands, so of a long list only so many are weighed: as many as a page has. */
const maxAssessed = 50;

/**
 * What a reviewer should look at, for those in a list that wait for a decision, by client_id.
 * Nothing for the ones that do not wait, nor for those beyond the first fifty that do.
 */
async function risksOfWaiting(deps: RiskDeps, clients: readonly Client[]): Promise<Map<string, Risk[]>> {
  const weighed = clients.filter(needsReview).slice(0, maxAssessed);
  if (weighed.length === 0) return new Map();
  const context = await deps.riskContext();
  return new Map(weighed.map((client) => [client.client_id, riskSignals(client, context)]));
}

/** A list as programs read it: `risks` is a member of those alone that were weighed. */
export async function listedRecords(deps: RiskDeps, clients: readonly Client[]) {
  const weighed = await risksOfWaiting(deps, clients);
  return clients.map((client) => {
    const risks = weighed.get(client.client_id);
    return { ...reviewedRecord(client), ...(risks && { risks }) };
  });
}

/** For a list that people read: a client, its owner's address, and the risks if it waits. */
export type ListedClient = { client: Client; owner: string | null; risks: readonly Risk[] };

export async function listedWithRisks(deps: RiskDeps, clients: readonly Client[]): Promise<ListedClient[]> {
  const ids = [...new Set(clients.flatMap(({ owner_user_id }) => owner_user_id ?? []))];
  const [risks, ...owners] = await Promise.all([
    risksOfWaiting(deps, clients),
    ...ids.map(async (id) => [id, (await findUser(deps.db, id))?.email] as const),
  ]);
  const addresses = new Map(owners);
  return clients.map((client) => ({
    client,
    owner: addresses.get(client.owner_user_id ?? '') ?? null,
    risks: risks.get(client.client_id) ?? [],
  }));
}
