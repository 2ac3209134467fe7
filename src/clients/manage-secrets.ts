import { now } from '../platform/clock.ts';
import type { Deps } from '../platform/deps.ts';
import { fieldProblem, invalidFields, notFound, refusal } from '../platform/errors.ts';
import { digest, isActiveSecret, lastFour, newId, newSecret } from '../platform/ids.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { usesSecret } from './authentication-methods.ts';
import { type ClientDeps, changeOwnClient, type OwnTarget } from './change-client.ts';
import { type Client, type ClientSecret, proposalOf } from './client.ts';
import { findOwnClient } from './find-clients.ts';
import { deleteExpiredSecrets, expireSecret, insertSecret } from './store.ts';

/** The prefix lets scanners recognise a leaked one. */
export const newClientSecret = (): string => newSecret('cs_');

export const newSecretRow = (secret: string, at: number, name: string | null = null): ClientSecret => ({
  secret_id: newId('sec'),
  secret_hash: digest(secret),
  created_at: at,
  expires_at: null,
  name,
  last_four: lastFour(secret),
  last_used_at: null,
});

const maxActiveSecrets = 2;

/** For how many seconds a retired secret may still work. */
export const overlaps = { now: 0, hour: 3600, day: 86_400, week: 7 * 86_400 } as const;
export type Overlap = keyof typeof overlaps;

export const isOverlap = (text: string): text is Overlap => Object.hasOwn(overlaps, text);

/** As its owner reads it. */
export type SecretRecord = Omit<ClientSecret, 'secret_hash'>;
const secretRecord = ({ secret_hash: _, ...record }: ClientSecret): SecretRecord => record;

/** The active secrets, oldest first. @throws as {@link findOwnClient}. */
export const listSecrets = async (
  deps: Pick<Deps, 'db' | 'clock'>,
  client_id: string,
  owner_user_id: string | null,
): Promise<SecretRecord[]> =>
  activeSecretsOf(deps, await findOwnClient(deps, client_id, owner_user_id)).map(secretRecord);

const activeSecretsOf = (deps: Pick<Deps, 'clock'>, client: Client): ClientSecret[] =>
  client.secrets.filter((secret) => isActiveSecret(secret, now(deps)));

/**
 * One more secret for a client that has some.
 * @param target.name what to call it; left out: nothing.
 * @param target.client_secret left out: a new one.
 * @param target.overlapSeconds how long the previous one still works, 0 to a week; left out: until it is retired.
 * @returns it, which is not readable afterwards. `previous_expires_at` is null where no other one ends.
 * @throws as {@link changeOwnClient}; invalidFields for a name; invalidState for a client that uses none, and while two are active.
 */
export async function addSecret(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget & { name?: string; overlapSeconds?: number; client_secret?: string | undefined },
): Promise<{ client: Client; secret: SecretRecord; client_secret: string; previous_expires_at: number | null }> {
  const { client_secret = newClientSecret() } = target;
  const secret = newSecretRow(client_secret, now(deps), readName(target.name));
  const expires_at = target.overlapSeconds === undefined ? null : secret.created_at + target.overlapSeconds;
  let ended: readonly ClientSecret[] = [];
  const client = await changeOwnClient(deps, target, (client) => {
    if (!mayHaveSecret(client)) throw refused(client, `problem.secret.${reasonForNone(client)}`);
    const { client_id } = client;
    const active = activeSecretsOf(deps, client);
    if (active.length >= maxActiveSecrets) throw refused(client, 'problem.secret.two');
    ended = expires_at === null ? [] : active.filter((other) => other.expires_at === null);
    return {
      action: 'client.secret_added',
      after: {
        secret_id: secret.secret_id,
        ...(secret.name !== null && { name: secret.name }),
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

function readName(name = ''): string | null {
  if (name.trim() === '') return null;
  if (displayNameProblem(name) !== undefined) throw invalidFields([fieldProblem('name', { key: 'problem.name' })]);
  return normalizeName(name);
}

/**
 * Ends a secret, at once or after an overlap in which both work; repeated, it ends sooner or later. One without an end
 * always remains while the client needs one.
 *
 * @param target.overlapSeconds 0 to a week.
 * @throws as {@link changeOwnClient}; notFound for a secret that has ended; invalidState for the last one.
 */
export async function retireSecret(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget & { secret_id: string; overlapSeconds: number },
): Promise<SecretRecord> {
  const { secret_id } = target;
  const expires_at = now(deps) + target.overlapSeconds;
  const { secrets } = await changeOwnClient(deps, target, (client) => {
    const active = activeSecretsOf(deps, client);
    if (!active.some((secret) => secret.secret_id === secret_id)) throw notFound();
    const hasSuccessor = active.some((other) => other.secret_id !== secret_id && other.expires_at === null);
    if (!hasSuccessor && mayHaveSecret(client)) throw refused(client, 'problem.secret.last');
    return {
      action: 'client.secret_retired',
      after: { secret_id, expires_at },
      to: { updated_at: client.updated_at },
      also: [expireSecret(secret_id, client.client_id, expires_at)],
    };
  });
  return { ...secretRecord(secrets.find((secret) => secret.secret_id === secret_id)!), expires_at };
}

/** Also before the change to a secret is approved: from then on the client needs it. */
export const mayHaveSecret = (client: Client): boolean => usesSecret(client) || usesSecret(proposalOf(client));

/** Whether there is something to look after: secrets of a client that now has a key would be good again with the next change. */
export const hasSecrets = (client: Client): boolean => mayHaveSecret(client) || client.secrets.length > 0;

/** Why it has no secret. */
export const reasonForNone = ({ client_type }: Pick<Client, 'client_type'>) =>
  client_type === 'public' ? 'public' : 'key';

type RefusalKey = `problem.secret.${'two' | 'last' | 'public' | 'key'}`;
const refused = ({ status }: Client, key: RefusalKey) =>
  refusal('invalid_state', { key }, { details: { current_status: status } });
