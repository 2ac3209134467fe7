import { hash, timingSafeEqual } from 'node:crypto';
import type { SigningAlgorithm } from '../../clients/choices.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import type { Vault } from '../../platform/vault.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { keepRevoked } from './read-revoked.ts';
import { compressed, listIdBytes, listSeconds, openStatusIndexes } from './status-indexes.ts';
import { tolerance } from './store.ts';

// Token Status List (draft-ietf-oauth-status-list): a list has a bit for each token that carries a status.

/**
 * Seconds that a list may be kept by an API that reads it, and by a cache between. With the five after which it is read again, 35 of the 60 in
 * which a revocation shows; the others are for reading a mass revocation.
 */
export const listTtl = 15;

/** Seconds. A list is signed anew when half of this is over, or when it has changed. */
const signedSeconds = 600;

const macBytes = 9;

/** The first letter of the name says by which algorithm the list is signed: by that of the token, which its reader knows. */
const letters: Readonly<Record<SigningAlgorithm, string>> = { EdDSA: 'e', RS256: 'r' };
const algorithms = new Map(
  Object.entries(letters).map(([algorithm, letter]) => [letter, algorithm as SigningAlgorithm]),
);

export type StatusClaim = { status_list: { idx: number; uri: string } };
export type StatusLists = ReturnType<typeof openStatusLists>;

type ListDeps = StoreDeps & { vault: Vault; keys: KeyRing; config: { readonly baseUrl: string } };
/** `edition` of the list; `kid` of the key. */
type Signed = { token: string; etag: string; signed_at: number; edition: number; kid: string };

export function openStatusLists(deps: ListDeps) {
  const { clock, vault, keys, config } = deps;
  const macOf = (id: Buffer) => vault.macs('status-list', id).map((mac) => mac.subarray(0, macBytes));
  const path = () => `${config.baseUrl}/oauth/status-lists/`;

  /** A list needs no row, since nothing but the master key can make its name. @returns undefined for a list that is over, or is none. */
  function readName(name: string): { algorithm: SigningAlgorithm; list: string } | undefined {
    const algorithm = algorithms.get(name.slice(0, 1));
    const bytes = Buffer.from(name.slice(1), 'base64url');
    if (!algorithm || bytes.length !== listIdBytes + macBytes || bytes.toString('base64url') !== name.slice(1))
      return undefined;
    const id = bytes.subarray(0, listIdBytes);
    if (!macOf(id).some((mac) => timingSafeEqual(mac, bytes.subarray(listIdBytes)))) return undefined;
    const age = now({ clock }) - id.readUInt32BE();
    if (age < -tolerance || age > listSeconds + 2 * accessTokenSeconds + tolerance) return undefined;
    return { algorithm, list: id.toString('base64url') };
  }

  const revoked = keepRevoked(deps);
  const signed = new Map<string, Signed>();
  const signing = new Map<string, Promise<Signed>>();

  async function sign(name: string, { algorithm, list }: { algorithm: SigningAlgorithm; list: string }) {
    const at = now({ clock });
    const made = { signed_at: at, edition: revoked.editionOf(list), kid: await keys.kidOf(algorithm) };
    const token = await keys.sign(algorithm, 'statuslist+jwt', {
      iss: config.baseUrl,
      sub: path() + name,
      iat: at,
      exp: at + signedSeconds,
      ttl: listTtl,
      status_list: { bits: 1, lst: await compressed(revoked.bitsOf(list)) },
    });
    const done = { ...made, token, etag: `"${hash('sha256', token, 'base64url')}"` };
    signed.delete(name);
    signed.set(name, done);
    // Few are in use at once: those of the processes of half a day. A list that was dropped is signed again.
    if (signed.size > 100) signed.delete(signed.keys().next().value as string);
    return done;
  }

  /** Whether it may be answered once more: nothing was revoked since, and its key was not replaced, as one is that was stolen. */
  async function isCurrent({ signed_at, edition, kid }: Signed, algorithm: SigningAlgorithm, list: string) {
    const age = now({ clock }) - signed_at;
    const isRecent = age >= 0 && age < signedSeconds / 2;
    return isRecent && edition === revoked.editionOf(list) && kid === (await keys.kidOf(algorithm));
  }

  let named = { list: '', name: '' };
  /** All tokens of some hours have the same one. */
  function nameOf(list: string): string {
    if (named.list !== list) {
      const id = Buffer.from(list, 'base64url');
      const mac = vault.mac('status-list', id).subarray(0, macBytes);
      named = { list, name: Buffer.concat([id, mac]).toString('base64url') };
    }
    return named.name;
  }

  return {
    /** `list.index` for a token that is about to be issued. */
    next: openStatusIndexes({ clock }),
    /** @param ref what `next` gave. @param algorithm of the token. */
    claimOf(ref: string, algorithm: SigningAlgorithm): StatusClaim {
      const point = ref.indexOf('.');
      const name = nameOf(ref.slice(0, point));
      return { status_list: { idx: Number(ref.slice(point + 1)), uri: `${path()}${letters[algorithm]}${name}` } };
    },
    /** @returns what the claim of a token of ours was made of; undefined if its list is over. */
    refOf({ status_list: { idx, uri } }: StatusClaim): string | undefined {
      const found = readName(uri.slice(uri.lastIndexOf('/') + 1));
      return found && `${found.list}.${idx}`;
    },
    /** A Status List Token (§5.1). @returns undefined for a list that is over, or is none. @throws {StoreUnavailable} */
    async read(name: string): Promise<Pick<Signed, 'token' | 'etag'> | undefined> {
      const found = readName(name);
      if (!found) return undefined;
      await revoked.upToDate();
      const known = signed.get(name);
      if (known && (await isCurrent(known, found.algorithm, found.list))) return known;
      // Compressed once after each change, however many ask.
      const shared = signing.get(name);
      if (shared) return shared;
      const made = sign(name, found).finally(() => signing.delete(name));
      signing.set(name, made);
      return made;
    },
    close: revoked.close,
  };
}
