import type { Deps } from '../deps.ts';
import { findUser } from '../users/store.ts';
import type { User } from '../users/user.ts';
import { sameJson } from './change-client.ts';
import { type Client, type ReviewedFields, reviewedFields } from './client.ts';
import { findAnyClient } from './list-clients.ts';
import { type Risk, riskSignals } from './risk-signals.ts';
import { readApprovedClients } from './store.ts';

/** One field that its owner wants different. */
export type FieldChange = { field: keyof ReviewedFields; before: unknown; after: unknown };

/** All that an administrator decides by. */
export type ClientReview = {
  client: Client;
  /** Undefined for a client of the house, and once the owner is gone. */
  owner: User | undefined;
  /** Empty unless a change waits. */
  changes: FieldChange[];
  risks: Risk[];
};

/** Names and hosts of that many clients are compared with; beyond, the oldest. */
const mostCompared = 5000;

/** @throws {RequestError} `not_found`. */
export async function clientReview(deps: Pick<Deps, 'db' | 'config'>, client_id: string): Promise<ClientReview> {
  const client = await findAnyClient(deps, client_id);
  const [owner, approved] = await Promise.all([
    client.owner_user_id === null ? undefined : findUser(deps.db, client.owner_user_id),
    readApprovedClients(deps.db, mostCompared),
  ]);
  const risks = riskSignals(client, { service: deps.config.brand.name, approved });
  return { client, owner, changes: changesOf(client), risks };
}

/** Side by side, what serves and what is wanted. */
export const changesOf = (client: Client): FieldChange[] =>
  reviewedFields.flatMap((field) => {
    const after = client.pending_change?.[field];
    return after === undefined || sameJson(after, client[field]) ? [] : [{ field, before: client[field], after }];
  });
