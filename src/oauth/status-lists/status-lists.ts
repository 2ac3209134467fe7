import { hash, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SigningAlgorithm } from '../../clients/choices.ts';
import { type Clock, now } from '../../platform/clock.ts';
import type { Db, Part } from '../../platform/db/db.ts';
import { workIn } from '../../platform/db/parts.ts';
import { inSlices } from '../../platform/db/slices.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import type { Vault } from '../../platform/vault.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import { applyBulkRevocations } from '../grants/grants.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { listIdBytes, listOf, listSeconds, openStatusIndexes } from './status-indexes.ts';
import { type RevokedPlace, revokedGrantsAfter, revokedTokensAfter } from './store.ts';

// Token Status List (draft-ietf-oauth-status-list): a list has a bit for each token that carries a status.

/**
 * Seconds that a list may be kept by an API that reads it, and by a cache between. With what is read from the store every ten seconds, and a
 * mass revocation that begins to be written with such a read, a revocation shows within 60.
 */
export const listTtl = 20;
const readEveryMs = 10_000;
/** How long a read waits for the rows of a mass revocation. What is left shows in the next one. */
const awaitedMs = 2_000;

/** Seconds. A list is signed anew when half of this is over, or when it has changed. */
const signedSeconds = 600;

const macBytes = 9;
/** How far the clocks of processes may be apart, in seconds. */
const tolerance = 300;

/** The first letter of the name says by which algorithm the list is signed: by that of the token, which its reader knows. */
const algorithms: Readonly<Record<string, SigningAlgorithm>> = { e: 'EdDSA', r: 'RS256' };

export type StatusClaim = { status_list: { idx: number; uri: string } };
export type StatusLists = ReturnType<typeof openStatusLists>;

type ListDeps = StoreDeps & { vault: Vault; keys: KeyRing; config: { readonly baseUrl: string } };
type Signed = { token: string; etag: string; bits: string; signed_at: number; of: Revoked };
/** Indexes by list. */
type Revoked = ReadonlyMap<string, readonly number[]>;

export function openStatusLists(deps: ListDeps) {
  const { clock, vault, keys, config } = deps;
  const macOf = (id: Buffer) => vault.macs('status-list', id).map((mac) => mac.subarray(0, macBytes));
  const path = () => `${config.baseUrl}/oauth/status-lists/`;

  /** A list needs no row, since nothing but the master key can make its name. @returns undefined for a list that is over, or is none. */
  function readName(name: string): { algorithm: SigningAlgorithm; list: string } | undefined {
    const algorithm = algorithms[name.slice(0, 1)];
    const bytes = Buffer.from(name.slice(1), 'base64url');
    if (!algorithm || bytes.length !== listIdBytes + macBytes || bytes.toString('base64url') !== name.slice(1))
      return undefined;
    const id = bytes.subarray(0, listIdBytes);
    if (!macOf(id).some((mac) => timingSafeEqual(mac, bytes.subarray(listIdBytes)))) return undefined;
    const age = now({ clock }) - id.readUInt32BE();
    if (age < -tolerance || age > listSeconds + 2 * accessTokenSeconds + tolerance) return undefined;
    return { algorithm, list: id.toString('base64url') };
  }

  const revoked = keptRevoked(deps);
  const signed = new Map<string, Signed>();

  function isRecent({ signed_at }: Signed): boolean {
    const age = now({ clock }) - signed_at;
    return age >= 0 && age < signedSeconds / 2;
  }

  async function sign(name: string, algorithm: SigningAlgorithm, { of, bits }: Pick<Signed, 'of' | 'bits'>) {
    const at = now({ clock });
    const known = signed.get(name);
    if (known?.bits === bits && isRecent(known)) {
      known.of = of;
      return known;
    }
    const token = await keys.sign(algorithm, 'statuslist+jwt', {
      iss: config.baseUrl,
      sub: path() + name,
      iat: at,
      exp: at + signedSeconds,
      ttl: listTtl,
      status_list: { bits: 1, lst: bits },
    });
    const made = { token, etag: `"${hash('sha256', token, 'base64url')}"`, bits, signed_at: at, of };
    signed.delete(name);
    signed.set(name, made);
    // Few are in use at once: those of the processes of half a day. A list that was dropped is signed again.
    if (signed.size > 100) signed.delete(signed.keys().next().value as string);
    return made;
  }

  return {
    /** `list.index` for a token that is about to be issued. */
    next: openStatusIndexes({ clock }),
    /** @param ref what `next` gave. @param algorithm of the token. */
    claimOf(ref: string, algorithm: SigningAlgorithm): StatusClaim {
      const [list = '', index] = ref.split('.');
      const id = Buffer.from(list, 'base64url');
      const name = Buffer.concat([id, ...macOf(id).slice(0, 1)]).toString('base64url');
      const letter = Object.keys(algorithms).find((one) => algorithms[one] === algorithm);
      return { status_list: { idx: Number(index), uri: `${path()}${letter}${name}` } };
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
      const { of } = await revoked();
      const known = signed.get(name);
      // Compressed once for each read of the store, however many ask.
      if (known?.of === of && isRecent(known)) return known;
      return sign(name, found.algorithm, { of, bits: await listOf(of.get(found.list) ?? []) });
    },
  };
}

/** What is revoked by now, read again when it is older than some seconds and a request asks; those that ask meanwhile share it. */
function keptRevoked(deps: StoreDeps) {
  let known: { at: number; of: Revoked } | undefined;
  let reading: Promise<{ at: number; of: Revoked }> | undefined;
  let applying: Promise<unknown> | undefined;

  async function readAgain() {
    const at = deps.clock();
    // The job does the same once a minute. Its failure is the job's to report.
    applying ??= applyBulkRevocations(deps)
      .catch(() => undefined)
      .finally(() => {
        applying = undefined;
      });
    await Promise.race([applying, sleep(awaitedMs, undefined, { ref: false })]);
    known = { at, of: await readRevoked(deps) };
    return known;
  }

  return async () => {
    const age = known ? deps.clock() - known.at : Number.POSITIVE_INFINITY;
    if (known && age >= 0 && age < readEveryMs) return known;
    reading ??= readAgain().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

/** Of every part of the store; without one of them the list would call its tokens valid. */
async function readRevoked({ db, clock }: { db: Db; clock: Clock }): Promise<Revoked> {
  const found = new Map<string, number[]>();
  const add = (refs: string) => {
    for (const ref of refs.split(' ')) {
      const [list = '', index] = ref.split('.');
      const known = found.get(list);
      if (known) known.push(Number(index));
      else found.set(list, [Number(index)]);
    }
  };
  const since = now({ clock }) - accessTokenSeconds - tolerance;
  await workIn(db.parts, (part) => readPart(part, since, add));
  return found;
}

async function readPart(part: Part, since: number, add: (refs: string) => void): Promise<void> {
  let place: RevokedPlace = { revoked_at: since, grant_id: '' as RevokedPlace['grant_id'] };
  await inSlices(async (rows) => {
    const some = await revokedGrantsAfter(part, place, rows);
    for (const { status_refs, status_refs_before } of some) {
      add(status_refs);
      if (status_refs_before !== null) add(status_refs_before);
    }
    place = some.at(-1) ?? place;
    return some.length;
  });
  let after = '';
  await inSlices(async (rows) => {
    const some = await revokedTokensAfter(part, after, rows);
    for (const { status_refs } of some) add(status_refs);
    after = some.at(-1)?.jti ?? after;
    return some.length;
  });
}
