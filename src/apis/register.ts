import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { ttlCache } from '../platform/ttl-cache.ts';
import { type Api, comparableIdentifier } from './api.ts';
import { readApis } from './store.ts';

/** The APIs that there are at one moment. */
export type ApiRegister = {
  /** By name. */
  readonly all: readonly Api[];
  find(api_id: string): Api | undefined;
  /** @param identifier as a request names it. */
  named(identifier: string): Api | undefined;
  /** Whose scope it is; undefined for a scope of ours, and one that is unknown or retired. */
  ofScope(name: string): Api | undefined;
};

export type Apis = {
  /** At most a second old, so that an API that is retired ends on every node within that second. @throws {StoreUnavailable} */
  read(): Promise<ApiRegister>;
  /** The next `read` asks the store. */
  forget(): void;
};

export function openApis({ db, clock }: { db: Db; clock: Clock }): Apis {
  const cache = ttlCache('apis', clock, async () => apiRegister(await readApis(db)));
  return { read: () => cache.find('all'), forget: () => cache.forget('all') };
}

export function apiRegister(all: readonly Api[]): ApiRegister {
  const byId = new Map<string, Api>(all.map((api) => [api.api_id, api]));
  const byIdentifier = new Map(all.map((api) => [comparableIdentifier(api.identifier), api]));
  const byScope = new Map(all.flatMap((api) => api.scopes.map(({ name }) => [name, api] as const)));
  return {
    all,
    find: (api_id) => byId.get(api_id),
    named: (identifier) => byIdentifier.get(comparableIdentifier(identifier)),
    ofScope: (name) => byScope.get(name),
  };
}
