import { generateKeyPair, hash, type webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { sessionSeconds } from '../../authentication/sessions/session.ts';
import { type SigningAlgorithm, signingAlgorithms } from '../../clients/choices.ts';
import { now } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/db.ts';
import type { Sql } from '../../platform/db/sql.ts';
import { tables } from '../../platform/db/tables.ts';
import type { Deps } from '../../platform/deps.ts';
import {
  deleteAllSigningKeys,
  insertSigningKey,
  type KeyRecord,
  listKeyRecords,
  listSigningKeys,
  retireAllSigningKeys,
  retireSigningKeys,
  rotateSigningKey,
} from './store.ts';

type KeyDeps = Pick<Deps, 'db' | 'clock' | 'vault'>;

/** How long a key is active before the next one takes over. */
export const rotationPeriodSeconds = 30 * 86_400;
/** The key set is cached for five minutes (spec 4.2), so after fifteen every relying party can verify with the key. */
export const publishedBeforeUseSeconds = 15 * 60;
/** Tokens expire after an hour (spec 2.3); five minutes more for clocks that disagree. */
export const retiringSeconds = 65 * 60;
/** After it has left the key set, a public key verifies `id_token_hint` for as long as a session can last. */
export const retiredSeconds = retiringSeconds + sessionSeconds;
/** Of each algorithm. Only rotations by command come near it. */
export const maxRetiredKeys = 20;

/**
 * At the first start. An active key may sign at once, since no relying party has cached a key set without it.
 * @param newPair as {@link pairsInAdvance} gives.
 */
export async function ensureSigningKeys(deps: KeyDeps, newPair = generatePair): Promise<void> {
  const present = await listKeyRecords(deps.db);
  await deps.db.shared.change({ run: { keys: await missingKeys(deps, present, newPair) } });
}

async function missingKeys(deps: KeyDeps, present: readonly KeyRecord[], newPair = generatePair): Promise<Sql[]> {
  const missing = signingAlgorithms.flatMap((algorithm) =>
    (['active', 'next'] as const)
      .filter((status) => !present.some((key) => key.algorithm === algorithm && key.status === status))
      .map((status) => ({ algorithm, status })),
  );
  return Promise.all(
    missing.map(async ({ algorithm, status }) =>
      insertSigningKey(await newKey(deps, algorithm, newPair), status, now(deps)),
    ),
  );
}

/** Of a restored store: a key that was rotated out since the backup, perhaps because it was stolen, must not sign again. */
export async function replaceSigningKeys(deps: KeyDeps): Promise<void> {
  const keys = await missingKeys(deps, []);
  await deps.db.shared.change({ run: { retired: retireAllSigningKeys(now(deps)), keys } });
}

/**
 * For the change that records the theft of all keys. What they have signed is refused from then on, since their private halves
 * may be in other hands; new ones sign at once.
 */
export const stolenKeysReplacement = async (deps: KeyDeps): Promise<Sql[]> => [
  ...deleteAllSigningKeys,
  ...(await missingKeys(deps, [])),
];

/** By algorithm, oldest first. */
export const listKeys = (deps: Pick<Deps, 'db'>): Promise<KeyRecord[]> => listKeyRecords(deps.db);

/** @returns whether each algorithm has an active key with its private half. */
export async function canSign(db: Db): Promise<boolean> {
  const keys = await listSigningKeys(db);
  const isActive = (algorithm: SigningAlgorithm) =>
    keys.some((key) => key.algorithm === algorithm && key.status === 'active' && key.private_key_sealed !== null);
  return signingAlgorithms.every(isActive);
}

/**
 * Rotates the keys that are due, takes those from the key set that no unexpired token needs, and deletes those that no
 * session needs. Safe on every node at any time.
 * @returns the kids of the keys that no longer sign.
 */
export async function rotateDueKeys(deps: KeyDeps): Promise<string[]> {
  const at = now(deps);
  const rotated: string[] = [];
  for (const key of await listKeyRecords(deps.db)) {
    if (isDue(key, at))
      rotated.push(...(await rotate(deps, key.algorithm, at - rotationPeriodSeconds, { actor: 'system' })));
  }
  const retirement = { unpublishedBefore: at - retiringSeconds, deletedBefore: at - retiredSeconds };
  await deps.db.shared.change({ run: retireSigningKeys({ ...retirement, max: maxRetiredKeys }) });
  return rotated;
}

/**
 * Rotates now, for an operator. Nothing changes if the next key was published less than 15 minutes ago: relying parties
 * with a cached key set would refuse its signatures.
 * @returns as {@link rotateDueKeys}.
 */
export async function rotateNow(deps: KeyDeps, caller: Caller): Promise<string[]> {
  const rotated: string[] = [];
  for (const algorithm of signingAlgorithms) rotated.push(...(await rotate(deps, algorithm, now(deps), caller)));
  return rotated;
}

const isDue = (key: KeyRecord, at: number) =>
  key.status === 'active' && (key.activated_at ?? 0) <= at - rotationPeriodSeconds;

async function rotate(
  deps: KeyDeps,
  algorithm: SigningAlgorithm,
  activatedBefore: number,
  caller: Caller,
): Promise<string[]> {
  const at = now(deps);
  const keys = (await listKeyRecords(deps.db)).filter((key) => key.algorithm === algorithm);
  const retires = keys.find(({ status }) => status === 'active')?.kid;
  const activates = keys.find(({ status }) => status === 'next')?.kid;
  if (retires === undefined || activates === undefined) return []; // the next start creates what is missing
  const successor = await newKey(deps, algorithm);
  const publishedBefore = at - publishedBeforeUseSeconds;
  const limits = { now: at, retires, activates, activatedBefore, publishedBefore };
  const { statement } = auditEvent(
    {
      action: 'key.rotated',
      ...caller,
      target: activates,
      before: { algorithm, active_kid: retires, next_kid: activates },
      after: { algorithm, active_kid: activates, next_kid: successor.kid },
    },
    at,
  );
  const rotated = await deps.db.shared.change({ run: { ...rotateSigningKey(successor, limits), event: statement } });
  return rotated.ok ? [retires] : [];
}

const generate = promisify(generateKeyPair);
const generatePair = (algorithm: SigningAlgorithm) =>
  algorithm === 'EdDSA' ? generate('ed25519') : generate('rsa', { modulusLength: 2048 });

/** Has the thread pool generate all pairs of a new store, while the event loop makes its tables. */
export function pairsInAdvance(): typeof generatePair {
  const pairs = signingAlgorithms.flatMap((algorithm) =>
    [1, 2].map(() => ({ algorithm, pair: generatePair(algorithm) })),
  );
  for (const { pair } of pairs) pair.catch(() => undefined); // it is awaited when it is taken
  return (algorithm) => {
    const index = pairs.findIndex((one) => one.algorithm === algorithm);
    return index < 0 ? generatePair(algorithm) : pairs.splice(index, 1)[0]!.pair;
  };
}

async function newKey({ vault }: KeyDeps, algorithm: SigningAlgorithm, newPair = generatePair) {
  const { privateKey, publicKey } = await newPair(algorithm);
  const public_jwk = publicKey.export({ format: 'jwk' });
  const kid = thumbprint(public_jwk);
  const privatePem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  return {
    kid,
    algorithm,
    public_jwk,
    private_key_sealed: vault.seal(tables.signing_keys.sealed.private_key_sealed(kid), privatePem),
  };
}

/** JWK thumbprint: SHA-256 over the required members in lexicographic order, base64url (RFC 7638 §3, RFC 8037 §2). */
function thumbprint(jwk: webcrypto.JsonWebKey): string {
  const required = jwk.kty === 'OKP' ? { crv: jwk.crv, kty: jwk.kty, x: jwk.x } : { e: jwk.e, kty: jwk.kty, n: jwk.n };
  return hash('sha256', JSON.stringify(required), 'base64url');
}
