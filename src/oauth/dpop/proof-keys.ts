import type { KeyObject } from 'node:crypto';
import { readPublicKey, thumbprintOf } from '../../clients/keys/public-key.ts';

export type ProofKey = { readonly key: KeyObject; readonly jkt: string };

/** Of two generations: what was not used while so many others were is forgotten. */
const maxKeys = 1000;
let recent = new Map<string, ProofKey>();
let older = new Map<string, ProofKey>();

/**
 * The key in the header of a proof, and its thumbprint. An app proves with one key all day, and to read it takes as long as to verify a
 * signature, so the keys of late are remembered by the header as it was sent: a public key proves nothing by itself.
 * @param header the encoded header. @returns undefined for what is no key that an app may prove with.
 */
export function proofKeyOf(header: string, jwk: unknown): ProofKey | undefined {
  const known = recent.get(header) ?? older.get(header);
  if (known) {
    remember(header, known);
    return known;
  }
  const key = readPublicKey(jwk);
  if (!key) return undefined;
  const made = { key, jkt: thumbprintOf(jwk) };
  remember(header, made);
  return made;
}

function remember(header: string, key: ProofKey): void {
  if (recent.has(header)) return;
  if (recent.size >= maxKeys) [older, recent] = [recent, new Map()];
  recent.set(header, key);
}
