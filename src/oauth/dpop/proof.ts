import { hash } from 'node:crypto';
import type { Client } from '../../clients/client.ts';
import { isFapi } from '../../clients/profile.ts';
import { type Clock, now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { Db } from '../../platform/db/db.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import { RequestError } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import type { Vault } from '../../platform/vault.ts';
import { isSignedBy, type Jws, parseJws } from '../client-keys/jws.ts';
import { endOfNonce, newNonce } from './nonce.ts';
import { proofKeyOf } from './proof-keys.ts';

/** Seconds that the clock of a client may differ from ours, unless its proof has a nonce. */
const clockTolerance = 60;
const longestId = 256;

export type ProofDeps = {
  readonly db: Db;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly config: { readonly baseUrl: string };
};

/** A request as far as a proof is about it. */
export type Proven = {
  /** The header `DPoP`; several of them come as one that is no JWT. */
  readonly proof: string;
  readonly method: string;
  /** Without a query. */
  readonly path: string;
  /** That the request carries, at an endpoint that takes one. */
  readonly accessToken?: string | undefined;
};

/**
 * Checks a proof of possession (RFC 9449 §4.3), and uses it up: the same one is refused a second time on every node.
 * @returns the thumbprint of the key that made it. @throws {RequestError} `invalid_dpop_proof`; `use_dpop_nonce`.
 */
export async function verifyProof(deps: ProofDeps, request: Proven): Promise<string> {
  const jws = parseJws(request.proof);
  if (jws?.header.typ !== 'dpop+jwt') throw invalidProof('The header DPoP must have one JWT of the type dpop+jwt.');
  const proven = proofKeyOf(request.proof.slice(0, request.proof.indexOf('.')), jws.header.jwk);
  if (!proven) throw invalidProof('jwk in the DPoP proof must be a public key, of EC P-256, Ed25519 or RSA.');
  const jti = requireMatch(deps, request, jws.claims);
  const expires_at = requireFresh(deps, jws.claims);
  const { key, jkt } = proven;
  if (!(await isSignedBy(jws, key))) throw invalidProof('The signature of the DPoP proof is wrong.');
  const token_hash = digest(JSON.stringify(['dpop', jkt, jti]));
  const use = useOnce({ token_hash, expires_at });
  if (!(await deps.db.of(token_hash).change({ run: { used: mayConflict(use) } })).ok)
    throw invalidProof('This DPoP proof was used before. Make a new one for each request.');
  return jkt;
}

/** What the proof is about: this request, and this token. @returns its id. */
function requireMatch({ config }: ProofDeps, { method, path, accessToken }: Proven, claims: Jws['claims']): string {
  const { jti, htm, htu, ath } = claims;
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId)
    throw invalidProof(`The DPoP proof needs a jti of 1 to ${longestId} characters.`);
  if (htm !== method) throw invalidProof(`htm of the DPoP proof must be ${method}.`);
  const url = `${config.baseUrl}${path}`;
  if (htu !== url && (typeof htu !== 'string' || comparableUrl(htu) !== comparableUrl(url)))
    throw invalidProof(`htu of the DPoP proof must be ${url}.`);
  if (accessToken !== undefined && ath !== hash('sha256', accessToken, 'base64url'))
    throw invalidProof('ath of the DPoP proof must be the hash of the access token.');
  return jti;
}

/** Scheme and host in any case, without a default port, a query and a fragment (RFC 9449 §4.3, RFC 3986 §6.2). */
function comparableUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url ? `${url.origin}${url.pathname}` : undefined;
}

/** @returns until when it has to be known that it was used. */
function requireFresh({ clock, vault }: ProofDeps, { iat, nonce, nbf, exp }: Jws['claims']): number {
  const at = now({ clock });
  if (typeof iat !== 'number') throw invalidProof('The DPoP proof needs iat.');
  const askForNonce = (why: string) =>
    new RequestError('use_dpop_nonce', `${why} Send a new proof with the nonce in the header DPoP-Nonce.`, {
      headers: { 'dpop-nonce': newNonce(vault, at) },
    });
  if (nonce !== undefined) {
    const end = typeof nonce === 'string' ? endOfNonce(vault, nonce, at) : undefined;
    if (end === undefined) throw askForNonce('The nonce is too old.');
    return end;
  }
  if (Math.abs(iat - at) > clockTolerance) throw askForNonce('iat of the DPoP proof is not now.');
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= at + clockTolerance))
    throw invalidProof('nbf of the DPoP proof is ahead.');
  if (exp !== undefined && !(typeof exp === 'number' && exp > at)) throw invalidProof('exp of the DPoP proof is over.');
  return Math.ceil(iat) + clockTolerance;
}

/** Whether its access tokens must be bound (RFC 9449 §5.2). */
export const needsProof = (client: Pick<Client, 'profile' | 'dpop_bound_access_tokens'>): boolean =>
  isFapi(client) || client.dpop_bound_access_tokens;

export const invalidProof = (description: string) => new RequestError('invalid_dpop_proof', description);
