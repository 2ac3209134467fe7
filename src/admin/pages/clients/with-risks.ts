import type { Client } from '../../../clients/client.ts';
import { riskSignals } from '../../../clients/risk-signals.ts';
import { readApprovedClients } from '../../../clients/store.ts';
import type { Deps } from '../../../deps.ts';
import { findUser } from '../../../users/store.ts';
import type { ListedClient } from './list-page.ts';

const mostCompared = 5000;

/** Clients for a list, each with its owner's address and what a reviewer should look at; the rest is read once. */
export async function withRisks(
  deps: Pick<Deps, 'db' | 'config'>,
  clients: readonly Client[],
): Promise<ListedClient[]> {
  const context = { service: deps.config.brand.name, approved: await readApprovedClients(deps.db, mostCompared) };
  const ids = [...new Set(clients.flatMap(({ owner_user_id }) => owner_user_id ?? []))];
  const owners = new Map(await Promise.all(ids.map(async (id) => [id, (await findUser(deps.db, id))?.email] as const)));
  return clients.map((client) => ({
    client,
    owner: owners.get(client.owner_user_id ?? '') ?? null,
    risks: riskSignals(client, context),
  }));
}
