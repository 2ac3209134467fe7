import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { Algorithm } from './algorithms.ts';
import type { AccessTokenClaims } from './claims.ts';
import { compactJws } from './compact-jws.ts';
import { type FetchText, isObject } from './fetch-json.ts';
import type { KeySource } from './key-set.ts';

export type StatusListOptions = {
  /** Seconds for which a list is used beyond its `ttl` while the issuer does not answer. Default 60; at most 3600, and no longer than its `exp`. */
  maxStale?: number;
  /**
   * What happens to a token that is valid by itself when its list cannot be had, and the last one is too old: `refuse` (default) answers
   * 503, `accept` accepts it, revoked or not.
   */
  whenUnavailable?: 'refuse' | 'accept';
};

/** @returns whether a token whose signature was verified is revoked; false for one that has no status. @throws if its list could not be had. */
export type IsRevoked = (claims: AccessTokenClaims) => Promise<boolean>;

type StatusDeps = {
  issuer: string;
  algorithms: readonly Algorithm[];
  keys: KeySource;
  fetchText: FetchText;
  now: () => number;
  /** Seconds. */
  clockTolerance: number;
};

type List = { bits: Uint8Array; entryBits: number; at: number; freshUntil: number; expiresAt: number };

/** Those of the processes of an issuer; the one that was fetched longest ago is dropped first. */
const maxLists = 100;
/** Of the bits, decompressed: 16 times as many tokens as a list of Signet has. */
const maxBytes = 2 * 1024 * 1024;
/** Seconds. A list is fetched again after its `ttl`, but no more often, and no less often, than this. */
const ttlSeconds = { min: 5, default: 60, max: 300 };
/** After a failure. */
const pauseMs = 5_000;

/** Reads Token Status Lists (draft-ietf-oauth-status-list §8.3). */
export function statusLists(
  { maxStale = 60, whenUnavailable = 'refuse' }: StatusListOptions,
  { issuer, algorithms, keys, fetchText, now, clockTolerance }: StatusDeps,
): IsRevoked {
  if (!(maxStale >= 0 && maxStale <= 3600)) throw new TypeError('statusList.maxStale must be 0 to 3600 seconds.');
  if (whenUnavailable !== 'refuse' && whenUnavailable !== 'accept') {
    throw new TypeError('statusList.whenUnavailable must be refuse or accept.');
  }
  const lists = new Map<string, List>();
  const fetching = new Map<string, Promise<List>>();
  let failed = new Map<string, { at: number; cause: unknown }>();

  async function load(uri: string): Promise<List> {
    const { text, headers } = await fetchText(uri, { headers: { accept: 'application/statuslist+jwt' } });
    const list = await read(uri, text, Math.max(Number(headers.get('age')) || 0, 0));
    lists.delete(uri);
    if (lists.size >= maxLists) lists.delete(lists.keys().next().value as string);
    lists.set(uri, list);
    return list;
  }

  /** @param age seconds that it has spent in caches (RFC 9111 §5.1). */
  async function read(uri: string, text: string, age: number): Promise<List> {
    const token = text.trim();
    if (!compactJws.test(token)) throw new Error('The status list is not a signed JWT.');
    const { alg, kid, typ } = decodeProtectedHeader(token);
    const algorithm = algorithms.find((name) => name === alg);
    if (typ !== 'statuslist+jwt' || !algorithm || !kid) throw new Error('The status list is not one.');
    const key = await keys.find(kid, algorithm);
    if (!key) throw new Error('The status list is signed with a key that the issuer does not have.');
    const at = now();
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      typ: 'statuslist+jwt',
      subject: uri,
      clockTolerance,
      currentDate: new Date(at),
      requiredClaims: ['iat', 'exp'],
    });
    if (payload.iss !== undefined && payload.iss !== issuer) throw new Error('The status list is of another issuer.');
    const list = payload.status_list;
    const entryBits = isObject(list) ? list.bits : undefined;
    if (!isObject(list) || typeof list.lst !== 'string' || !isEntrySize(entryBits)) {
      throw new Error('The status list has no list.');
    }
    const { ttl = ttlSeconds.default } = payload;
    if (!(typeof ttl === 'number' && ttl > 0)) throw new Error('The status list has a ttl that is none.');
    const seconds = Math.min(Math.max(ttl - age, ttlSeconds.min), ttlSeconds.max);
    return {
      bits: await inflated(list.lst),
      entryBits,
      at,
      freshUntil: at + seconds * 1000,
      expiresAt: Number(payload.exp) * 1000,
    };
  }

  /** A request that many tokens cause at once is made once; after a failure there is a pause. */
  function fetchOnce(uri: string): Promise<List> {
    const shared = fetching.get(uri);
    if (shared) return shared;
    const failure = failed.get(uri);
    if (failure && now() >= failure.at && now() < failure.at + pauseMs) return Promise.reject(failure.cause);
    const fetched = load(uri)
      .catch((cause: unknown) => {
        if (failed.size >= maxLists) failed = new Map();
        failed.set(uri, { at: now(), cause });
        throw cause;
      })
      .finally(() => fetching.delete(uri));
    fetching.set(uri, fetched);
    return fetched;
  }

  async function find(uri: string): Promise<List> {
    const known = lists.get(uri);
    const at = now();
    if (known && at >= known.at && at < known.freshUntil) return known; // not if the clock was set back
    try {
      return await fetchOnce(uri);
    } catch (cause) {
      if (known && at >= known.at && at < Math.min(known.freshUntil + maxStale * 1000, known.expiresAt)) return known;
      throw cause;
    }
  }

  return async (claims) => {
    const place = placeOf(claims, issuer);
    if (!place) return false;
    let list: List;
    try {
      list = await find(place.uri);
    } catch (cause) {
      if (whenUnavailable === 'accept') return false;
      throw cause;
    }
    const { bits, entryBits } = list;
    const bit = place.idx * entryBits;
    const byte = bits[Math.floor(bit / 8)];
    // An index that the list does not have says nothing good of the token (§8.3).
    return byte === undefined || ((byte >> (bit % 8)) & (2 ** entryBits - 1)) !== 0;
  };
}

const isEntrySize = (bits: unknown): bits is number => bits === 1 || bits === 2 || bits === 4 || bits === 8;

/** @throws if the token has a status that leads elsewhere than to its issuer. */
function placeOf({ status }: AccessTokenClaims, issuer: string): { idx: number; uri: string } | undefined {
  const list = isObject(status) ? status.status_list : undefined;
  if (list === undefined) return undefined;
  if (!isObject(list) || typeof list.uri !== 'string' || !URL.canParse(list.uri))
    throw new Error('The status is not one.');
  if (new URL(list.uri).origin !== new URL(issuer).origin) throw new Error('The status is not of the issuer.');
  if (typeof list.idx !== 'number' || !Number.isSafeInteger(list.idx) || list.idx < 0)
    throw new Error('The status has no index.');
  return { idx: list.idx, uri: list.uri };
}

/** zlib (RFC 1950), no more than {@link maxBytes}. */
async function inflated(lst: string): Promise<Uint8Array> {
  const compressed = Uint8Array.from(atob(lst.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
  const reader = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('deflate')).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.byteLength;
    if (length > maxBytes) {
      await reader.cancel();
      throw new Error(`The status list has more than ${maxBytes} bytes.`);
    }
    parts.push(part.value);
  }
  const bits = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bits.set(part, at);
    at += part.byteLength;
  }
  return bits;
}
