import type { Client } from '../../clients/client.ts';
import type { Deps } from '../../clients/deps.ts';
import { scopeNames } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import { listConsents } from '../consents/store.ts';
import { activeAccessOf } from '../grants/grant-lists.store.ts';

/** A client that a person has let in. Times are Unix seconds. */
export type ConnectedApp = Pick<Client, 'client_id' | 'name' | 'homepage_url'> & {
  /** What it may see, in the order in which people are told. */
  scope: readonly string[];
  since: number;
  /** When it was last given tokens; null while there is only the memory of a consent. */
  last_used_at: number | null;
};

/** One entry for each client with live grants or a remembered consent, last used first. */
export async function listConnectedApps(
  deps: Pick<Deps, 'db' | 'clock' | 'clients'>,
  user_id: string,
): Promise<ConnectedApp[]> {
  const [access, consents] = await Promise.all([
    activeAccessOf(deps.db, user_id, now(deps)),
    listConsents(deps.db, user_id),
  ]);
  const parts: Part[] = [
    ...access,
    ...consents.map(({ client_id, scope, granted_at }) => ({ client_id, scope, since: granted_at })),
  ];
  const byClient = [...Map.groupBy(parts, ({ client_id }) => client_id)];
  const apps = await Promise.all(byClient.map(([client_id, all]) => connectedApp(deps, client_id, all)));
  return apps
    .filter((app) => app !== undefined)
    .sort((one, other) => (other.last_used_at ?? 0) - (one.last_used_at ?? 0) || one.name.localeCompare(other.name));
}

type Part = { client_id: string; scope: string; since: number; last_used_at?: number };

async function connectedApp(deps: Pick<Deps, 'clients'>, client_id: string, parts: readonly Part[]) {
  const client = await deps.clients.find(client_id);
  if (!client) return undefined; // deleted between the two reads, and all of it with it
  const scope = new Set(parts.flatMap((part) => part.scope.split(' ')));
  const uses = parts.flatMap(({ last_used_at }) => last_used_at ?? []);
  return {
    client_id,
    name: client.name,
    homepage_url: client.homepage_url,
    scope: scopeNames.filter((name) => scope.has(name)),
    since: Math.min(...parts.map(({ since }) => since)),
    last_used_at: uses.length > 0 ? Math.max(...uses) : null,
  };
}
