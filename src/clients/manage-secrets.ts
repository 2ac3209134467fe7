import { now } from '../platform/clock.ts';
import type { Deps } from '../platform/deps.ts';
import { notFound, refusal } from '../platform/errors.ts';
import { digest, isActiveSecret, newId, newSecret } from '../platform/ids.ts';
import { type ClientDeps, changeOwnClient, type OwnTarget, requireOwnClient } from './change-client.ts';
import type { Client, ClientSecret } from './client.ts';
import { findAnyClient } from './find-clients.ts';
import { deleteExpiredSecrets, expireSecret, insertSecret } from './store.ts';

/** `cs_` and 256 random bits, so that a leaked one is found by its looks. Shown once; the store has its digest. */
export const newClientSecret = (): string => newSecret('cs_');

/** What the store keeps of it. @param at Unix seconds. */
export const newSecretRow = (secret: string, at: number): ClientSecret => ({
  secret_id: newId('sec'),
  secret_hash: digest(secret),
  created_at: at,
  expires_at: null,
});

/** One in use, and one that replaces it. */
const maxActiveSecrets = 2;

/** How long a secret may go on after it was retired, in seconds. */
export const overlaps = { now: 0, hour: 3600, day: 86_400, week: 7 * 86_400 } as const;
export type Overlap = keyof typeof overlaps;

export const isOverlap = (text: string): text is Overlap => Object.hasOwn(overlaps, text);

/** A secret as its owner reads it: when it was made and when it ends, and nothing that helps to guess it. */
export type SecretRecord = Pick<ClientSecret, 'secret_id' | 'created_at' | 'expires_at'>;

const secretRecord = ({ secret_id, created_at, expires_at }: ClientSecret): SecretRecord => ({
  secret_id,
  created_at,
  expires_at,
});

/** The secrets that work, oldest first. @throws notFound for a client of somebody else. */
export async function listSecrets(
  deps: ClientDeps,
  client_id: string,
  owner_user_id: string | null,
): Promise<SecretRecord[]> {
  const client = await findAnyClient(deps, client_id);
  requireOwnClient(client, { owner_user_id });
  return activeSecretsOf(deps, client).map(secretRecord);
}

const activeSecretsOf = (deps: Pick<ClientDeps, 'clock'>, client: Client): ClientSecret[] =>
  client.secrets.filter((secret) => isActiveSecret(secret, now(deps)));

/**
 * One more secret for a confidential client.
 * @param target.overlapSeconds how long the one before goes on, 0 to a week; left out: until it is retired.
 * @returns it: this is the only time that anybody sees it. `previous_expires_at` is null where no other one ends.
 * @throws notFound for a client of somebody else; invalidState for a public client, and while two are alive.
 */
export async function addSecret(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget & { overlapSeconds?: number },
): Promise<{ client: Client; secret: SecretRecord; client_secret: string; previous_expires_at: number | null }> {
  const client_secret = newClientSecret();
  const secret = newSecretRow(client_secret, now(deps));
  const expires_at = target.overlapSeconds === undefined ? null : secret.created_at + target.overlapSeconds;
  let ended: readonly ClientSecret[] = [];
  const client = await changeOwnClient(deps, target, (client) => {
    if (client.client_type === 'public') throw refused(client, 'problem.secret.public');
    const { client_id } = client;
    const alive = activeSecretsOf(deps, client);
    if (alive.length >= maxActiveSecrets) throw refused(client, 'problem.secret.two');
    ended = expires_at === null ? [] : alive.filter((other) => other.expires_at === null);
    return {
      action: 'client.secret_added',
      after: {
        secret_id: secret.secret_id,
        ...(ended.length > 0 && { retired: ended.map(({ secret_id }) => secret_id), expires_at }),
      },
      to: { updated_at: client.updated_at }, // nothing that a reviewer reads has changed
      also: [
        deleteExpiredSecrets(client_id, now(deps)),
        insertSecret({ ...secret, client_id }),
        ...ended.map(({ secret_id }) => expireSecret(secret_id, client_id, expires_at ?? 0)),
      ],
    };
  });
  return {
    client,
    secret: secretRecord(secret),
    client_secret,
    previous_expires_at: ended.length > 0 ? expires_at : null,
  };
}

/**
 * Ends a secret, at once or after an overlap in which both work. It may be said again, to end it sooner or later. There
 * is always one left that does not end: a client without any could not even be told from a public one.
 *
 * @param target.overlapSeconds 0 to a week.
 * @returns the secret as it is now.
 * @throws notFound also for a secret that has ended; invalidState for the last one.
 */
export async function retireSecret(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget & { secret_id: string; overlapSeconds: number },
): Promise<SecretRecord> {
  const expires_at = now(deps) + target.overlapSeconds;
  let retired: SecretRecord | undefined;
  await changeOwnClient(deps, target, (client) => {
    const alive = activeSecretsOf(deps, client);
    const secret = alive.find(({ secret_id }) => secret_id === target.secret_id);
    if (!secret) throw notFound();
    const hasSuccessor = alive.some((other) => other.secret_id !== secret.secret_id && other.expires_at === null);
    if (!hasSuccessor) throw refused(client, 'problem.secret.last');
    retired = { ...secretRecord(secret), expires_at };
    return {
      action: 'client.secret_retired',
      after: { secret_id: secret.secret_id, expires_at },
      to: { updated_at: client.updated_at },
      also: [expireSecret(secret.secret_id, client.client_id, expires_at)],
    };
  });
  return retired!;
}

const refused = ({ status }: Client, key: 'problem.secret.two' | 'problem.secret.last' | 'problem.secret.public') =>
  refusal('invalid_state', { key }, { details: { current_status: status } });
