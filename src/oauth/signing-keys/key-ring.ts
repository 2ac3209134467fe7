import { createPrivateKey, createPublicKey, type webcrypto } from 'node:crypto';
import type { SigningAlgorithm } from '../../clients/choices.ts';
import { type Clock, now } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/db.ts';
import { tables } from '../../platform/db/tables.ts';
import { invalidToken, RequestError, unavailable } from '../../platform/errors.ts';
import { type PublicDocument, publicDocument } from '../../platform/http/representations.ts';
import { cacheRequests } from '../../platform/ttl-cache.ts';
import type { Vault } from '../../platform/vault.ts';
import { type Sign, signerOf, type VerificationAlgorithm, type Verify, verifierOf } from './signatures.ts';
import { retiredSeconds } from './signing-keys.ts';
import { openSigningThread, type SigningThread, type Tokens } from './signing-thread.ts';
import { findRetiredKey, type KeyStatus, listSigningKeys, type SigningKeyRow } from './store.ts';
import { signCompact, type TokenSigner, tokenSignerOf } from './token-signer.ts';

/**
 * `at+jwt` is an access token (RFC 9068 §2.1), `JWT` an id token, `logout+jwt` a logout token (Back-Channel Logout 1.0 §2.4),
 * `secevent+jwt` a security event token (RFC 8417 §2.3), `statuslist+jwt` a list of revoked access tokens (draft-ietf-oauth-status-list
 * §5.1). Every verification of ours says which it wants.
 */
type TokenType = 'at+jwt' | 'JWT' | SignedAlone;
type SignedAlone = 'logout+jwt' | 'secevent+jwt' | 'statuslist+jwt';
type Claims = Record<string, unknown>;

export type KeyRing = Awaited<ReturnType<typeof openKeyRing>>;

type LoadedKey = {
  kid: string;
  algorithm: SigningAlgorithm;
  status: KeyStatus;
  verify: Verify;
  /** Undefined when only the public half is there. */
  signing: { sign: Sign; signTokens: TokenSigner } | undefined;
  publicJwk: webcrypto.JsonWebKey;
  /** The encoded JOSE header of each type, which never changes for a key. */
  headers: Record<TokenType, string>;
};

type VerificationKey = Pick<LoadedKey, 'kid' | 'algorithm' | 'verify'>;

type Snapshot = { at: number; rows: string; byKid: Map<string, LoadedKey>; published: PublicDocument };
type RingDeps = { db: Db; clock: Clock; vault: Vault; issuer: string };

const maxAgeMs = 1000;
const maxTokenLength = 8192;
/** As the header may name what each key has signed. */
const namesOf: Readonly<Record<SigningAlgorithm, readonly VerificationAlgorithm[]>> = {
  EdDSA: ['EdDSA', 'Ed25519'],
  RS256: ['RS256'],
};

/** Opens the ring on the keys in the store; there must be some (see `ensureSigningKeys`). */
export async function openKeyRing(deps: RingDeps) {
  const opened: OpenedKeys = { byKid: new Map(), thread: openSigningThread() };
  let snapshot = await load(deps, opened);
  let loading: Promise<Snapshot> | undefined;
  const genuine = genuineTokens();

  const refresh = async () => {
    loading ??= load(deps, opened, snapshot).finally(() => {
      loading = undefined;
    });
    snapshot = await loading;
  };
  /** At most a second old, so that every node refuses a withdrawn key within that second. */
  const current = () => (Math.abs(deps.clock() - snapshot.at) < maxAgeMs ? snapshot : refresh().then(() => snapshot));
  const verifySignature = async (typ: TokenType, token: string) => {
    const { byKid } = await current();
    const findKey = (kid: string) => byKid.get(kid) ?? (typ === 'JWT' ? retiredKey(deps, kid) : undefined);
    return verifyCompact(findKey, typ, token);
  };

  return {
    /** Reads the keys again. */
    refresh,
    /** The public key set as bytes in memory; never touches the store. */
    get published(): PublicDocument {
      return snapshot.published;
    },
    /** Of the key that signs now. */
    kidOf: async (algorithm: SigningAlgorithm): Promise<string> => activeKey(await current(), algorithm).kid,
    /** A compact JWS. */
    async sign(algorithm: SigningAlgorithm, typ: SignedAlone, claims: Claims): Promise<string> {
      const { headers, signing } = activeKey(await current(), algorithm);
      return signCompact(headers[typ], JSON.stringify(claims), signing.sign);
    },
    /**
     * An access token, and with it the ID token whose `at_hash` binds the two.
     * @param id the claims of the ID token, if there shall be one.
     */
    async signTokens(algorithm: SigningAlgorithm, access: Claims, id?: Claims): Promise<Tokens> {
      const { kid, signing } = activeKey(await current(), algorithm);
      const tokens = await signing.signTokens({ access: JSON.stringify(access), id: id && JSON.stringify(id) });
      genuine.add(tokens.access_token, kid, access);
      return tokens;
    },
    /**
     * Checks that a token is one of ours: the key from our own store by `kid`, the algorithm from that key and never
     * from the header (RFC 8725 §3.1), the type, the signature, the issuer. Not its expiry. An id token comes back as an
     * `id_token_hint` alone, so its key may have left the key set.
     * @throws {RequestError} `invalid_token`.
     */
    async verify(typ: TokenType, token: string): Promise<Claims> {
      const known = typ === 'at+jwt' ? genuine.find(token) : undefined;
      if (typ === 'at+jwt') cacheRequests.count('access_tokens', known ? 'hit' : 'miss');
      if (known && (await current()).byKid.has(known.kid)) return known.claims;
      const { kid, claims } = await verifySignature(typ, token);
      if (claims.iss !== deps.issuer) throw invalidToken('foreign issuer');
      if (typ === 'at+jwt') genuine.add(token, kid, claims);
      return claims;
    },
    /** The part of `verify` that concerns the signature, and never from memory. @throws {RequestError} `invalid_token`. */
    verifySignature,
  };
}

/** @returns undefined instead of `invalid_token`. */
export async function undefinedIfInvalid<Value>(verified: Promise<Value>): Promise<Value | undefined> {
  try {
    return await verified;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'invalid_token') return undefined;
    throw error;
  }
}

/**
 * Access tokens whose signature this process has made or verified. It saves an Ed25519 verification at the next userinfo
 * call; whether the token is active is read from the store each time. Bounded: what was not used while `limit` others were
 * added is dropped.
 */
function genuineTokens(limit = 5_000) {
  type Known = { token: string; kid: string; claims: Claims };
  let recent = new Map<string, Known>();
  let older = new Map<string, Known>();
  const keyOf = (token: string) => token.slice(-24); // of the signature: enough to find it, and quick to hash

  function keep(key: string, known: Known): void {
    if (recent.size >= limit) [older, recent] = [recent, new Map()];
    recent.set(key, known);
  }

  return {
    find(token: string): Known | undefined {
      const key = keyOf(token);
      let known = recent.get(key);
      if (known === undefined) {
        known = older.get(key);
        if (known !== undefined) keep(key, known);
      }
      return known?.token === token ? known : undefined; // every character counts
    },
    add: (token: string, kid: string, claims: Claims) => keep(keyOf(token), { token, kid, claims }),
  };
}

type SigningKey = LoadedKey & { signing: NonNullable<LoadedKey['signing']> };

function activeKey({ byKid }: Snapshot, algorithm: SigningAlgorithm): SigningKey {
  const isActive = (key: LoadedKey): key is SigningKey =>
    key.algorithm === algorithm && key.status === 'active' && key.signing !== undefined;
  const active = byKid.values().find(isActive);
  if (active) return active;
  throw unavailable(new Error(`no active ${algorithm} key`));
}

/** Read each time: there may be many of them, and hints are rare. */
async function retiredKey(deps: RingDeps, kid: string): Promise<VerificationKey | undefined> {
  if (!/^[\w-]{43}$/.test(kid)) return undefined; // no thumbprint, and perhaps nothing that the store can compare
  const row = await findRetiredKey(deps.db, kid, now(deps) - retiredSeconds);
  if (!row) return undefined;
  const publicKey = createPublicKey({ key: row.public_jwk, format: 'jwk' });
  return { kid, algorithm: row.algorithm, verify: verifierOf(row.algorithm, publicKey) };
}

type FindKey = (kid: string) => VerificationKey | undefined | Promise<VerificationKey | undefined>;

async function verifyCompact(findKey: FindKey, typ: TokenType, token: string) {
  const parts = token.length <= maxTokenLength ? token.split('.') : [];
  const [encodedHeader = '', encodedClaims = '', encodedSignature = ''] = parts;
  if (parts.length !== 3) throw invalidToken('not a compact JWS');
  const header = decodeJson(encodedHeader);
  const key = typeof header.kid === 'string' ? await findKey(header.kid) : undefined;
  if (!key) throw invalidToken('unknown kid');
  // Our tokens have these three members only, so jku, x5u, jwk, crit and b64 are refused without being understood.
  const onlyOurs = Object.keys(header).every((name) => name === 'alg' || name === 'kid' || name === 'typ');
  if (!onlyOurs || header.typ !== typ || !namesOf[key.algorithm].some((name) => name === header.alg)) {
    throw invalidToken('not the header of such a token');
  }
  const signature = decodeBase64url(encodedSignature);
  const input = Buffer.from(`${encodedHeader}.${encodedClaims}`);
  if (!(await key.verify(input, signature))) throw invalidToken('bad signature');
  return { kid: key.kid, algorithm: key.algorithm, claims: decodeJson(encodedClaims) };
}

function decodeBase64url(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  // Node decodes several strings to the same bytes; only the canonical one is the token we issued.
  if (bytes.toString('base64url') !== text) throw invalidToken('not canonical base64url');
  return bytes;
}

function decodeJson(text: string): Claims {
  try {
    const decoded: unknown = JSON.parse(decodeBase64url(text).toString('utf8'));
    if (decoded !== null && typeof decoded === 'object' && !Array.isArray(decoded)) return decoded as Claims;
  } catch {}
  throw invalidToken('not JSON');
}

/** @param before is reused while the rows are the same: the keys are read every second. */
async function load(deps: RingDeps, opened: OpenedKeys, before?: Snapshot): Promise<Snapshot> {
  const at = deps.clock();
  const rows = await listSigningKeys(deps.db);
  const seen = JSON.stringify(rows);
  if (before?.rows === seen) return { ...before, at };
  const byKid = new Map(rows.map((row) => [row.kid, loadKey(row, deps.vault, opened)]));
  const keys = [...byKid.values()].map(({ kid, algorithm, publicJwk }) => ({
    ...publicJwk,
    kid,
    alg: algorithm,
    use: 'sig',
  }));
  return { at, rows: seen, byKid, published: publicDocument({ keys }) };
}

/** By kid. The material of a key never changes, so it is opened and parsed once and not every second. */
type OpenedKeys = { byKid: Map<string, Pick<LoadedKey, 'verify' | 'signing'>>; thread: SigningThread };

function loadKey(row: SigningKeyRow, vault: Vault, opened: OpenedKeys): LoadedKey {
  const header = (typ: TokenType) =>
    Buffer.from(JSON.stringify({ alg: row.algorithm, kid: row.kid, typ })).toString('base64url');
  const headers = {
    'at+jwt': header('at+jwt'),
    JWT: header('JWT'),
    'logout+jwt': header('logout+jwt'),
    'secevent+jwt': header('secevent+jwt'),
    'statuslist+jwt': header('statuslist+jwt'),
  };
  return {
    ...openKey(row, headers, vault, opened),
    kid: row.kid,
    algorithm: row.algorithm,
    status: row.status,
    publicJwk: row.public_jwk,
    headers,
  };
}

function openKey(row: SigningKeyRow, headers: LoadedKey['headers'], vault: Vault, { byKid, thread }: OpenedKeys) {
  const { kid, algorithm, private_key_sealed: sealed } = row;
  const known = byKid.get(kid);
  if (known) return sealed ? known : { ...known, signing: undefined };
  const key: Pick<LoadedKey, 'verify' | 'signing'> = {
    verify: verifierOf(algorithm, createPublicKey({ key: row.public_jwk, format: 'jwk' })),
    signing: undefined,
  };
  if (sealed) {
    const privateKey = createPrivateKey(vault.open(tables.signing_keys.sealed.private_key_sealed(kid), sealed));
    const sign = signerOf(algorithm, privateKey);
    const material = { kid, algorithm, sign, accessHeader: headers['at+jwt'], idHeader: headers.JWT };
    key.signing = { sign, signTokens: tokenSignerOf(material, privateKey, thread) };
  }
  byKid.set(kid, key);
  return key;
}
