import { setImmediate as letOthersRun } from 'node:timers/promises';
import { findUser, type User } from '../accounts/statements.ts';
import { isDigestOnly, toLoggedValue } from '../audit/audit.ts';
import { newestEventOf } from '../audit/read-log.ts';
import { ifThere } from '../platform/db/parts.ts';
import type { UserId } from '../platform/ids.ts';
import { sameJson } from './change-client.ts';
import {
  asLogged,
  type Client,
  needsReview,
  pick,
  proposalOf,
  type ReviewedFields,
  reviewedFields,
  reviewedRecord,
} from './client.ts';
import type { Deps } from './deps.ts';
import { findAnyClient } from './find-clients.ts';
import { type LogoState, readLogoState } from './logos.ts';
import { type Risk, riskSignalsOnce } from './risk-signals.ts';

/** One field that its owner wants different. */
export type FieldChange = { field: keyof ReviewedFields; before: unknown; after: unknown };

/** The revision before the one in review, if it was rejected. */
export type LastRejection = {
  /** Unix seconds. */
  at: number;
  reason: string | null;
  revision: number;
  /** What differs since, with the rejected revision as `before`. */
  changes: FieldChange[];
};

/** What an administrator decides by. */
type ClientReview = {
  client: Client;
  /** Undefined for a first-party client, and once the owner's account is deleted. */
  owner: User | undefined;
  /** Of the pending change. */
  changes: FieldChange[];
  risks: Risk[];
  lastRejection: LastRejection | undefined;
  /** Of the address that it wants; undefined: it names none. */
  logo: LogoState | undefined;
};

/** @throws {RequestError} `not_found`. */
export async function clientReview(deps: Pick<Deps, 'db' | 'riskContext'>, client_id: string): Promise<ClientReview> {
  const client = await findAnyClient(deps, client_id);
  const [owner, context, lastRejection, logo] = await Promise.all([
    client.owner_user_id === null ? undefined : ownerShown(deps, client.owner_user_id),
    deps.riskContext(),
    needsReview(client) ? lastRejectionOf(deps, client) : undefined,
    readLogoState(deps, client),
  ]);
  return { client, owner, changes: changesOf(client), risks: riskSignalsOnce(client, context), lastRejection, logo };
}

const ownerShown = ({ db }: Pick<Deps, 'db'>, user_id: UserId): Promise<User | undefined> =>
  ifThere(db, db.of(user_id), findUser(db, user_id));

/** A review as programs read it. */
export const reviewRecord = ({ client, owner, changes, risks, lastRejection, logo }: ClientReview) => ({
  ...reviewedRecord(client),
  owner: owner ? { user_id: owner.user_id, email: owner.email, name: owner.name } : null,
  changes,
  risks,
  last_rejection: lastRejection ?? null,
  logo: logo ?? null,
});

const decisions = ['client.rejected', 'client.change_rejected', 'client.approved', 'client.change_approved'];

/** An edit overwrites in the client's row why it was rejected; the audit log keeps it. */
async function lastRejectionOf(deps: Pick<Deps, 'db'>, client: Client): Promise<LastRejection | undefined> {
  const decision = await newestEventOf(deps, client.client_id, decisions);
  const { rejected } = (decision?.after ?? {}) as {
    rejected?: ReviewedFields & { revision: number };
  };
  if (decision === undefined || rejected === undefined) return undefined;
  const wanted = asLogged(pick(proposalOf(client), reviewedFields));
  const changes = reviewedFields.flatMap((field) => {
    // Of a very long value the log keeps a digest.
    if (rejected[field] === undefined) return []; // a field that did not exist yet
    const [before, after, isDigest] = [rejected[field], wanted[field], isDigestOnly(rejected[field])];
    return sameJson(before, isDigest ? toLoggedValue(after) : after)
      ? []
      : [{ field, before: isDigest ? null : before, after }];
  });
  return { at: decision.at, reason: decision.reason, revision: rejected.revision, changes };
}

/** The pending change, field by field. */
export const changesOf = (client: Client): FieldChange[] =>
  reviewedFields.flatMap((field) => {
    const after = client.pending_change?.[field];
    return after === undefined || sameJson(after, client[field]) ? [] : [{ field, before: client[field], after }];
  });

type RiskDeps = Pick<Deps, 'db' | 'riskContext'>;

/** Each one is compared with thousands, so of a long list only as many are assessed as a page has. */
const maxAssessed = 50;

/** By client_id, for the first fifty clients of a list that need a review. */
async function assess(deps: RiskDeps, clients: readonly Client[]): Promise<Map<string, Risk[]>> {
  const assessed = clients.filter(needsReview).slice(0, maxAssessed);
  if (assessed.length === 0) return new Map();
  const context = await deps.riskContext();
  const risks = new Map<string, Risk[]>();
  for (const client of assessed) {
    risks.set(client.client_id, riskSignalsOnce(client, context));
    await letOthersRun(); // beside thousands of clients, one takes milliseconds
  }
  return risks;
}

/** A list as programs read it, with `risks` where they were assessed. */
export async function listedRecords(deps: RiskDeps, clients: readonly Client[]) {
  const assessed = await assess(deps, clients);
  return clients.map((client) => {
    const risks = assessed.get(client.client_id);
    return { ...reviewedRecord(client), ...(risks && { risks }) };
  });
}

/** A client in a list for users, with its owner. */
export type ListedClient = { client: Client; owner: User | undefined; risks: readonly Risk[] };

export async function listedWithRisks(deps: RiskDeps, clients: readonly Client[]): Promise<ListedClient[]> {
  const ids = [...new Set(clients.flatMap(({ owner_user_id }) => owner_user_id ?? []))];
  const [risks, ...owners] = await Promise.all([assess(deps, clients), ...ids.map((id) => ownerShown(deps, id))]);
  const ownerById = new Map(owners.flatMap((owner) => (owner ? [[owner.user_id, owner]] : [])));
  return clients.map((client) => ({
    client,
    owner: ownerById.get(client.owner_user_id ?? ''),
    risks: risks.get(client.client_id) ?? [],
  }));
}
