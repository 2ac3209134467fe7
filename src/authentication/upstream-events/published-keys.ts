import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { cacheRequests } from '../../platform/ttl-cache.ts';
import type { Provider } from '../credentials/providers.ts';
import { failureOf, fetchKeys, type UpstreamFailure, type Upstreams } from '../federation/upstream.ts';
import { type PublishedKey, readPublishedKey } from './jws-algorithms.ts';

/** Seconds. A key that is withdrawn is good for as long as a set is fresh, and without an answer of its provider for a day. */
const freshFor = 300;
const goodFor = 86_400;
/** Seconds between two questions to a provider: anyone can send a token that names a key which is not there. */
const pause = 30;
/** Of one set, and so of the memory for it. */
const mostKeys = 50;
/** Providers that were removed meanwhile leave when there are more. */
const mostProviders = 200;

type Entry = {
  readonly of: Pick<Provider, 'issuer' | 'isStored'>;
  keys: readonly PublishedKey[];
  problem: UpstreamFailure | undefined;
  /** When `keys` were read, and when that was tried last, in Unix seconds. */
  readAt: number;
  triedAt: number;
  reading: Promise<void> | undefined;
};

export type PublishedKeys = ReturnType<typeof openPublishedKeys>;

/** The keys that providers sign with. */
export function openPublishedKeys(deps: Pick<Deps, 'clock' | 'tracer' | 'outbound'>, upstreams: Upstreams) {
  const entries = new Map<string, Entry>();

  /** A time in the future is of a clock that was set back. */
  const isWithin = (seconds: number, since: number) => now(deps) >= since && now(deps) - since < seconds;

  function entryOf({ id, issuer, isStored }: Provider): Entry {
    const known = entries.get(id);
    if (known?.of.issuer === issuer && known.of.isStored === isStored) return known;
    const of = isStored ? { issuer, isStored } : { issuer };
    const entry: Entry = {
      ...{ of, keys: [], problem: undefined, readAt: -goodFor, triedAt: -pause, reading: undefined },
    };
    entries.delete(id);
    entries.set(id, entry);
    if (entries.size > mostProviders) entries.delete(entries.keys().next().value!);
    return entry;
  }

  async function read(entry: Entry, provider: Provider): Promise<void> {
    entry.triedAt = now(deps);
    try {
      const { jwks_uri = '' } = (await upstreams.open(provider)).serverMetadata();
      const keys = await fetchKeys(deps, provider, jwks_uri);
      entry.keys = keys.slice(0, mostKeys).flatMap((jwk) => readPublishedKey(jwk) ?? []);
      entry.readAt = now(deps);
      entry.problem = undefined;
    } catch (error) {
      entry.problem = failureOf(error);
      upstreams.forget(provider);
    } finally {
      entry.reading = undefined;
    }
  }

  return {
    /**
     * Asks the provider again when its answer is five minutes old or not enough, though not twice in half a minute; those who need it
     * meanwhile wait for the same answer.
     * @param isWanted of a key.
     * @returns those that are wanted; a failure if the provider could not be asked.
     */
    async find(
      provider: Provider,
      isWanted: (key: PublishedKey) => boolean,
    ): Promise<readonly PublishedKey[] | UpstreamFailure> {
      const entry = entryOf(provider);
      const isHit = isWithin(freshFor, entry.readAt) && entry.keys.some(isWanted);
      cacheRequests.count('provider_keys', isHit ? 'hit' : 'miss');
      if (!isHit) {
        if (!entry.reading && !isWithin(pause, entry.triedAt)) entry.reading = read(entry, provider);
        await entry.reading;
      }
      const found = isWithin(goodFor, entry.readAt) ? entry.keys.filter(isWanted) : [];
      return found.length === 0 && entry.problem ? entry.problem : found;
    },
  };
}
