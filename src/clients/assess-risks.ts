import { setImmediate as letOthersRun } from 'node:timers/promises';
import { findUser } from '../accounts/store.ts';
import type { Db } from '../platform/db/db.ts';
import type { Deps } from '../platform/deps.ts';
import { type Client, needsReview, reviewedRecord } from './client.ts';
import { type ComparedClient, comparedClient, type Risk, type RiskContext, riskSignals } from './risk-signals.ts';
import { type ComparedRow, readComparedClients, readRememberedSuspensions } from './store.ts';

type RiskDeps = Pick<Deps, 'db' | 'config'>;

/** Names and hosts of that many clients in each state are compared with; beyond, the oldest. */
const maxCompared = 5000;

/** What clients under review are weighed against, read once however many there are. */
export async function riskContext({ db, config }: RiskDeps): Promise<RiskContext> {
  const [approved, suspended, remembered] = await Promise.all([
    readComparedClients(db, 'approved', maxCompared),
    readComparedClients(db, 'suspended', maxCompared),
    readRememberedSuspensions(db, maxCompared),
  ]);
  return {
    service: config.brand.name,
    approved: await compared(db, approved),
    suspended: await compared(db, [...suspended, ...remembered]),
  };
}

/** Skeletons and hosts of thousands of clients are worked out once and not for each review; a change makes them anew. */
const workedOut = new WeakMap<Db, Map<string, { version: string; client: ComparedClient }>>();

async function compared(db: Db, rows: readonly ComparedRow[]): Promise<ComparedClient[]> {
  const known = workedOut.get(db) ?? new Map<string, { version: string; client: ComparedClient }>();
  workedOut.set(db, known);
  if (known.size > 4 * maxCompared) known.clear(); // clients that are gone
  const clients: ComparedClient[] = [];
  for (const row of rows) {
    const before = known.get(row.client_id);
    const client =
      before?.version === row.version
        ? before.client
        : comparedClient({ ...row, redirect_uris: JSON.parse(row.redirect_uris) });
    known.set(row.client_id, { version: row.version, client });
    if (clients.push(client) % rowsAtOnce === 0) await letOthersRun();
  }
  return clients;
}
/** The first review of a process works all of them out: some ten milliseconds at a time. */
const rowsAtOnce = 200;

/** Each one is compared with thousands, so of a long list only so many are weighed: as many as a page has. */
const maxAssessed = 50;

/**
 * What a reviewer should look at, for those in a list that wait for a decision, by client_id.
 * Nothing for the ones that do not wait, nor for those beyond the first fifty that do.
 */
async function risksOfWaiting(deps: RiskDeps, clients: readonly Client[]): Promise<Map<string, Risk[]>> {
  const weighed = clients.filter(needsReview).slice(0, maxAssessed);
  if (weighed.length === 0) return new Map();
  const context = await riskContext(deps);
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
