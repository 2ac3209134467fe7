import { type Actor, auditEvent, type Caller, callerOf } from '../../audit/audit.ts';
import { type Algorithm, algorithms, generateSigningKey } from '../../clients/signing-algorithm.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { deleteRetiredKeys, insertSigningKey, listSigningKeys, rotateSigningKey, type SigningKeyRow } from './store.ts';

type KeyDeps = Pick<Deps, 'db' | 'clock' | 'vault'>;

/** How long a key signs before the next one takes over. */
export const rotationPeriodSeconds = 30 * 86_400;
/** Caches of the key set live five minutes (spec 4.2), so after fifteen everybody can verify what the key signs. */
export const publishedBeforeUseSeconds = 15 * 60;
/** Tokens live an hour (spec 2.3); five minutes more for clocks that disagree. */
export const retiringSeconds = 65 * 60;

/** At the very first start: an active key signs at once, since nobody has cached a key set that lacks it. */
export async function ensureSigningKeys(deps: KeyDeps): Promise<void> {
  const present = await listSigningKeys(deps.db);
  const missing = algorithms.flatMap((algorithm) =>
    (['active', 'next'] as const)
      .filter((status) => !present.some((key) => key.algorithm === algorithm && key.status === status))
      .map((status) => ({ algorithm, status })),
  );
  await deps.db.batch(
    await Promise.all(
      missing.map(async ({ algorithm, status }) => insertSigningKey(await newKey(deps, algorithm), status, now(deps))),
    ),
  );
}

/**
 * Rotates what is due and forgets what no living token needs. Safe to run on every node at any time.
 * @returns the kids that stopped signing.
 */
export async function rotateDueKeys(deps: KeyDeps): Promise<string[]> {
  const at = now(deps);
  const rotated: string[] = [];
  for (const key of await listSigningKeys(deps.db)) {
    if (isDue(key, at)) rotated.push(...(await rotate(deps, key.algorithm, at - rotationPeriodSeconds, 'system')));
  }
  await deleteRetiredKeys(deps.db, at - retiringSeconds);
  return rotated;
}

/**
 * Rotates now, at an operator's word. A next key that was published less than 15 minutes ago is not used, because
 * relying parties with a cached key set would refuse what it signs; nothing changes then.
 * @returns the kids that stopped signing.
 */
export async function rotateNow(deps: KeyDeps, by: Actor | Caller): Promise<string[]> {
  const rotated: string[] = [];
  for (const algorithm of algorithms) rotated.push(...(await rotate(deps, algorithm, now(deps), by)));
  return rotated;
}

const isDue = (key: SigningKeyRow, at: number) =>
  key.status === 'active' && (key.activated_at ?? 0) <= at - rotationPeriodSeconds;

async function rotate(
  deps: KeyDeps,
  algorithm: Algorithm,
  activatedBefore: number,
  by: Actor | Caller,
): Promise<string[]> {
  const at = now(deps);
  const keys = (await listSigningKeys(deps.db)).filter((key) => key.algorithm === algorithm);
  const retires = keys.find(({ status }) => status === 'active')?.kid;
  const activates = keys.find(({ status }) => status === 'next')?.kid;
  if (retires === undefined || activates === undefined) return []; // the next start makes what is missing
  const successor = await newKey(deps, algorithm);
  const publishedBefore = at - publishedBeforeUseSeconds;
  const limits = { now: at, retires, activates, activatedBefore, publishedBefore };
  const { statement } = auditEvent(
    {
      action: 'key.rotated',
      ...callerOf(by),
      target: activates,
      before: { algorithm, active_kid: retires, next_kid: activates },
      after: { algorithm, active_kid: activates, next_kid: successor.kid },
      onlyIf: { sql: 'exists (select 1 from signing_keys where kid = $1)', params: [successor.kid] },
    },
    at,
  );
  const [retired] = await deps.db.batch([...rotateSigningKey(successor, limits), statement]);
  return (retired?.rows ?? []).map((row) => String(row.kid));
}

async function newKey(deps: KeyDeps, algorithm: Algorithm) {
  const { kid, publicJwk, privatePem } = await generateSigningKey(algorithm);
  return {
    kid,
    algorithm,
    public_jwk: JSON.stringify(publicJwk),
    private_key_sealed: deps.vault.seal(`signing-key:${kid}`, privatePem),
  };
}
