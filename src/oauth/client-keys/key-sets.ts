import type { KeyObject } from 'node:crypto';
import { readPublicKey } from '../../clients/keys/public-key.ts';
import { type Clock, now } from '../../platform/clock.ts';
import { fetchJson } from '../../platform/http/outbound/fetch-json.ts';
import type { Outbound } from '../../platform/http/outbound/outbound.ts';
import { cacheRequests } from '../../platform/ttl-cache.ts';

/** A key of a client, ready to verify. */
export type ClientKey = { readonly kid: string | undefined; readonly alg: string | undefined; readonly key: KeyObject };

/** `problem`: why the address could not be read when it was asked last, for the owner of the client. */
export type PublishedKeys = { readonly keys: readonly ClientKey[]; readonly problem: string | undefined };

/** The keys that clients publish at their `jwks_uri`. */
export type KeySets = ReturnType<typeof openKeySets>;

/** Seconds. A key that is withdrawn is good for as long as a set is fresh, and without an answer of its address for a day. */
const freshFor = 300;
const goodFor = 86_400;
/**
 * Seconds between two requests for one client. An unauthenticated request that has its client_id can name any
 * `kid`, so this is how often an attacker can have us ask its server.
 */
const pause = 30;
/** Requests that are being made: the addresses of a few clients that never answer delay those of others, and no more. */
const maxReading = 32;
const maxClients = 2000;
const maxBytes = 64 * 1024;
/** Of one set, and so of the memory for it. */
const maxPublished = 50;

type Entry = {
  readonly uri: string;
  keys: readonly ClientKey[];
  problem: string | undefined;
  /** When `keys` were read, and when that was tried last, in Unix seconds. */
  readAt: number;
  triedAt: number;
  reading: Promise<void> | undefined;
};

export function openKeySets(deps: { outbound: Outbound; clock: Clock }) {
  const entries = new Map<string, Entry>();
  let reading = 0;

  /** A time in the future is of a clock that was set back. */
  const isWithin = (seconds: number, since: number) => now(deps) >= since && now(deps) - since < seconds;

  function entryOf(client_id: string, uri: string): Entry {
    const known = entries.get(client_id);
    const entry =
      known?.uri === uri
        ? known
        : { uri, keys: [], problem: undefined, readAt: -goodFor, triedAt: -pause, reading: undefined };
    // The first key of a Map is the one that was used longest ago.
    entries.delete(client_id);
    entries.set(client_id, entry);
    if (entries.size > maxClients) entries.delete(entries.keys().next().value!);
    return entry;
  }

  async function read(entry: Entry): Promise<void> {
    reading += 1;
    entry.triedAt = now(deps);
    const accept = 'application/jwk-set+json, application/json';
    const fetched = await fetchJson(deps, { url: entry.uri, accept, maxBytes }).finally(() => {
      reading -= 1;
      entry.reading = undefined;
    });
    const keys = 'json' in fetched ? keysIn(fetched.json) : undefined;
    entry.problem = 'problem' in fetched ? fetched.problem : keys === undefined ? notKeys : undefined;
    if (keys === undefined) return;
    entry.keys = keys;
    entry.readAt = now(deps);
  }

  return {
    /**
     * Asks the address again when its answer is five minutes old or not enough, though not twice in half a minute; those who
     * need it meanwhile wait for the same answer, which comes or fails in the time of {@link Outbound}.
     * @param isEnough whether these have what is looked for.
     */
    async find(
      { client_id, jwks_uri }: { client_id: string; jwks_uri: string },
      isEnough: (keys: readonly ClientKey[]) => boolean,
    ): Promise<PublishedKeys> {
      const entry = entryOf(client_id, jwks_uri);
      const isHit = isWithin(freshFor, entry.readAt) && isEnough(entry.keys);
      cacheRequests.count('client_keys', isHit ? 'hit' : 'miss');
      if (isHit) return { keys: entry.keys, problem: undefined };
      if (!entry.reading && !isWithin(pause, entry.triedAt)) {
        if (reading >= maxReading) entry.problem = 'Too many other addresses are being read. It will be read soon.';
        else entry.reading = read(entry);
      }
      const known = isWithin(goodFor, entry.readAt) ? entry.keys : [];
      // An address that hangs is asked beside those requests that can do without it.
      if (entry.problem === undefined || !isEnough(known)) await entry.reading;
      return { keys: isWithin(goodFor, entry.readAt) ? entry.keys : [], problem: entry.problem };
    },
  };
}

const notKeys = `It responded with no JSON Web Key Set, or with one of more than ${maxPublished} keys.`;

/**
 * Keys that are for something else may stand beside those that a client signs with, and are passed over (RFC 7517 §5).
 * @returns undefined for what is no key set.
 */
function keysIn(json: unknown): ClientKey[] | undefined {
  const keys = (json as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length > maxPublished) return undefined;
  return clientKeysOf(keys);
}

export const clientKeysOf = (jwks: readonly unknown[]): ClientKey[] =>
  jwks.flatMap((jwk) => {
    const key = readPublicKey(jwk);
    const { kid, use, alg } = (jwk ?? {}) as Record<string, unknown>;
    if (!key || (use !== undefined && use !== 'sig')) return [];
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return [{ kid: text(kid), alg: text(alg), key }];
  });
