import { findUser } from '../accounts/store.ts';
import { type Client, needsReview, reviewedRecord } from './client.ts';
import type { Deps } from './deps.ts';
import { type Risk, riskSignals } from './risk-signals.ts';

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
