import { newestAuditRowOf } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { findUser } from '../users/store.ts';
import type { User } from '../users/user.ts';
import { sameJson } from './change-client.ts';
import { type Client, type ReviewedFields, reviewedFields, waitsForReview, wantedFields } from './client.ts';
import { findAnyClient } from './list-clients.ts';
import { type Risk, riskSignals } from './risk-signals.ts';
import { readApprovedClients } from './store.ts';

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
  /** Undefined for a client of the house, and once the owner is gone. */
  owner: User | undefined;
  /** Empty unless a change waits. */
  changes: FieldChange[];
  risks: Risk[];
  lastRejection: LastRejection | undefined;
};

/** Names and hosts of that many clients are compared with; beyond, the oldest. */
const mostCompared = 5000;

/** @throws {RequestError} `not_found`. */
export async function clientReview(deps: Pick<Deps, 'db' | 'config'>, client_id: string): Promise<ClientReview> {
  const client = await findAnyClient(deps, client_id);
  const [owner, approved, lastRejection] = await Promise.all([
    client.owner_user_id === null ? undefined : findUser(deps.db, client.owner_user_id),
    readApprovedClients(deps.db, mostCompared),
    waitsForReview(client) ? lastRejectionOf(deps, client) : undefined,
  ]);
  const risks = riskSignals(client, { service: deps.config.brand.name, approved });
  return { client, owner, changes: changesOf(client), risks, lastRejection };
}

const decisions = ['client.rejected', 'client.change_rejected', 'client.approved', 'client.change_approved'];

/** The row of a client that was edited has forgotten what stood against it; the audit log has not. */
async function lastRejectionOf({ db }: Pick<Deps, 'db'>, client: Client): Promise<LastRejection | undefined> {
  const decision = await newestAuditRowOf(db, client.client_id, decisions);
  const { rejected } = JSON.parse(decision?.after_state ?? '{}') as {
    rejected?: ReviewedFields & { revision: number };
  };
  if (decision === undefined || rejected === undefined) return undefined;
  const wanted = wantedFields(client);
  const changes = reviewedFields
    .filter((field) => !sameJson(rejected[field], wanted[field]))
    .map((field) => ({ field, before: rejected[field], after: wanted[field] }));
  return { at: decision.at, reason: decision.reason, revision: rejected.revision, changes };
}

/** Side by side, what serves and what is wanted. */
export const changesOf = (client: Client): FieldChange[] =>
  reviewedFields.flatMap((field) => {
    const after = client.pending_change?.[field];
    return after === undefined || sameJson(after, client[field]) ? [] : [{ field, before: client[field], after }];
  });
