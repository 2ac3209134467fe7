import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose';
import type { HeaderValues } from './authorization.ts';
import { compactJws, maxJwsLength } from './compact-jws.ts';
import { isObject } from './fetch-json.ts';
import { type UsedProofs, usedProofsInMemory } from './used-proofs.ts';

/** What a proof may be signed with. */
export const proofAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;

export type DpopOptions = {
  /**
   * Where clients reach this API: origin, and the path that a proxy takes away before it hands on, such as `https://example.com/orders`. With
   * the path of the request it is what a proof must name. `Host` and `X-Forwarded-…` are not read, because the sender chooses them.
   * Default: the origin of the API's identifier, if that is a URL.
   */
  publicUrl?: string;
  /** Refuse tokens that are bound to no key. Default false: both are accepted. */
  required?: boolean;
  /** Seconds by which the `iat` of a proof may differ from the clock here. Default 60, at most 300. */
  proofWindow?: number;
  /** Default: in the memory of this process, which is right for one. */
  usedProofs?: UsedProofs;
};

/** The proof that came with a request, and what it must be for. */
export type PresentedProof = {
  /** The values of the `DPoP` header. */
  proof: HeaderValues;
  /** Of the request, such as `GET`. */
  method: string;
  /** Of the request as it arrived, such as `/orders?page=2`. */
  path: string;
};

/** @throws {ProofError} */
export type CheckProof = (token: string, thumbprint: string, presented: PresentedProof) => Promise<void>;

/** Why a proof is refused. */
export class ProofError extends Error {}

type ProofDeps = { audience: readonly string[]; now: () => number };

/** @throws {TypeError} for options that make no sense. */
export function proofChecker(options: DpopOptions, { audience, now }: ProofDeps): CheckProof {
  const { proofWindow = 60, usedProofs = usedProofsInMemory({ now }) } = options;
  if (!(proofWindow >= 1 && proofWindow <= 300)) throw new TypeError('dpop.proofWindow must be 1 to 300 seconds.');
  const base = publicBase(options.publicUrl, audience);

  return async (token, thumbprint, { proof, method, path }) => {
    const [jws, ...others] = typeof proof === 'string' ? [proof] : (proof ?? []);
    if (jws === undefined) throw new ProofError('A proof of the key is required, in a DPoP header.');
    // Of several headers, Node and the Fetch standard make one, joined by commas.
    if (others.length > 0 || jws.includes(',')) throw new ProofError('There is more than one DPoP header.');
    if (jws.length > maxJwsLength || !compactJws.test(jws)) throw new ProofError('The DPoP proof is not a signed JWT.');
    const { header, claims } = await verifyProof(jws, now(), proofWindow);
    if ((await calculateJwkThumbprint(header.jwk as object)) !== thumbprint) {
      throw new ProofError('The DPoP proof is by another key than that of the access token.');
    }
    if (claims.ath !== (await digest(token))) throw new ProofError('The DPoP proof is for another access token.');
    if (claims.htm !== method) throw new ProofError('The DPoP proof is for another method.');
    if (!path.startsWith('/') || addressOf(claims.htu) !== addressOf(base + path)) {
      throw new ProofError('The DPoP proof is for another address.');
    }
    const { iat, jti } = claims;
    if (typeof iat !== 'number' || !(Math.abs(iat - now() / 1000) <= proofWindow)) {
      throw new ProofError('The DPoP proof was not made just now, by the clock here.');
    }
    if (typeof jti !== 'string' || jti === '') throw new ProofError('The DPoP proof has no jti.');
    // One second more, so that it is still remembered in the last one in which it would be accepted.
    if (!(await usedProofs.use(await digest(`${thumbprint} ${jti}`), Math.ceil(iat + proofWindow) + 1))) {
      throw new ProofError('The DPoP proof was used before.');
    }
  };
}

/** RFC 9449 §4.3, 2 to 7: what can be said of the proof by itself. */
async function verifyProof(
  jws: string,
  now: number,
  clockTolerance: number,
): Promise<{ header: Record<string, unknown>; claims: Record<string, unknown> }> {
  try {
    const { protectedHeader, payload } = await jwtVerify(jws, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: [...proofAlgorithms],
      currentDate: new Date(now),
      clockTolerance,
    });
    if (isObject(protectedHeader.jwk)) return { header: protectedHeader, claims: payload };
  } catch {
    // Said below, without what the requester sent.
  }
  throw new ProofError('The DPoP proof is not one, or its signature is not valid.');
}

/** The base64url SHA-256 of ASCII (RFC 9449 §4.1). */
async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');
}

/** Without query and fragment, and normalized (RFC 9449 §4.3, 9; RFC 3986 §6.2.2). */
function addressOf(address: unknown): string | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/%[0-9a-f]{2}/gi, normalizedByte);
}

/** An unreserved character as itself, any other in capitals. */
function normalizedByte(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
}

function publicBase(publicUrl: string | undefined, audience: readonly string[]): string {
  const urls = audience.filter((one) => /^https?:/i.test(one) && URL.canParse(one));
  const origins = new Set(urls.map((one) => new URL(one).origin));
  const [origin] = origins.size === 1 ? origins : [];
  const base = publicUrl ?? origin;
  const url = base !== undefined && URL.canParse(base) ? new URL(base) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new TypeError('dpop.publicUrl must be the URL at which clients reach this API, without query and fragment.');
  }
  return url.href.replace(/\/$/, '');
}
