import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Deps } from '../platform/deps.ts';
import { type ComparedClient, comparedClient, type RiskContext, riskContextOf } from './risk-signals.ts';
import { type ComparedRow, readComparedClients, readRememberedSuspensions } from './store.ts';

/** Names and hosts of that many clients in each state are compared with; beyond, the oldest. */
const maxCompared = 5000;

/** The first review of a process works all of them out: some ten milliseconds at a time. */
const rowsAtOnce = 200;

/** @returns reads what clients under review are compared with, once however many there are. */
export type ReadRiskContext = () => Promise<RiskContext>;

/** Skeletons and hosts of thousands of clients are kept, and worked out again only for those that have changed. */
export function openRiskContext({ db, config }: Pick<Deps, 'db' | 'config'>): ReadRiskContext {
  const known = new Map<string, { version: string; client: ComparedClient }>();

  async function compared(rows: readonly ComparedRow[]): Promise<ComparedClient[]> {
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

  return async () => {
    const [approved, suspended, remembered] = await Promise.all([
      readComparedClients(db, 'approved', maxCompared),
      readComparedClients(db, 'suspended', maxCompared),
      readRememberedSuspensions(db, maxCompared),
    ]);
    return riskContextOf({
      service: config.brand.name,
      approved: await compared(approved),
      suspended: await compared([...suspended, ...remembered]),
    });
  };
}
