import type { KeyObject } from 'node:crypto';
import type { Client } from '../../clients/client.ts';
import type { KeySet } from '../../clients/keys/key-set.ts';
import { type ClientAlgorithm, fitsAlgorithm } from '../../clients/keys/public-key.ts';
import type { Deps } from '../deps.ts';
import type { Jws } from './jws.ts';
import { type ClientKey, clientKeysOf } from './key-sets.ts';

/** `problem`: why the address of the keys cannot be read, for the owner of the client. */
export type KeyRefusal =
  | { code: 'key_unknown' | 'client_not_approved' }
  | { code: 'keys_unavailable'; problem: string };

/**
 * The key that a client says it has signed with: of those that it has registered, or publishes at its `jwks_uri`, the one with
 * the `kid` of the header, or without a `kid` the only one that fits the algorithm (OpenID Connect Core §10.1).
 * Never of a client that was not reviewed: any user may register one, and would have us ask any address.
 */
export async function findClientKey(
  deps: Pick<Deps, 'keySets'>,
  client: Pick<Client, 'client_id' | 'status' | 'jwks' | 'jwks_uri'>,
  jws: Pick<Jws, 'algorithm' | 'header'>,
): Promise<{ key: KeyObject } | KeyRefusal> {
  const { client_id, jwks, jwks_uri } = client;
  const keyIn = (keys: readonly ClientKey[]) => onlyKeyFor(jws, keys);
  if (jwks !== null) return found(keyIn(registeredKeys(jwks)));
  if (jwks_uri === null) return found(undefined);
  if (client.status !== 'approved' && client.status !== 'suspended') return { code: 'client_not_approved' };
  const { keys, problem } = await deps.keySets.find({ client_id, jwks_uri }, (keys) => keyIn(keys) !== undefined);
  const key = keyIn(keys);
  return key === undefined && problem !== undefined ? { code: 'keys_unavailable', problem } : found(key);
}

const found = (key: KeyObject | undefined) => (key ? { key } : ({ code: 'key_unknown' } as const));

function onlyKeyFor({ algorithm, header }: Pick<Jws, 'algorithm' | 'header'>, keys: readonly ClientKey[]) {
  const fitting = keys.filter(
    ({ kid, alg, key }) =>
      (header.kid === undefined || header.kid === kid) &&
      (alg === undefined || sameAlgorithm(alg, algorithm)) &&
      fitsAlgorithm(key, algorithm),
  );
  return fitting.length === 1 ? fitting[0]!.key : undefined;
}

/** EdDSA here is Ed25519 by either name (RFC 9864). */
const sameAlgorithm = (alg: string, algorithm: ClientAlgorithm) =>
  alg.replace('EdDSA', 'Ed25519') === algorithm.replace('EdDSA', 'Ed25519');

/** Registered keys in the form that verifies, made once for as long as the directory has the client. */
const made = new WeakMap<KeySet, readonly ClientKey[]>();

function registeredKeys(jwks: KeySet): readonly ClientKey[] {
  const keys = made.get(jwks) ?? clientKeysOf(jwks.keys);
  made.set(jwks, keys);
  return keys;
}
