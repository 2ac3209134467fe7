import type { Caller } from '../../audit/audit.ts';
import { usesSecret } from '../../clients/authentication-methods.ts';
import { type Client, isForeignClientId } from '../../clients/client.ts';
import { registerClient } from '../../clients/register-client.ts';
import { readRegistration } from '../../clients/registration.ts';
import { approveClient } from '../../clients/review-client.ts';
import { usableScopes } from '../../clients/scopes.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { auth0 } from './auth0.ts';
import { type ClientAdapter, type ForeignClient, waysOut } from './foreign-client.ts';
import { hydra } from './hydra.ts';
import { keycloak } from './keycloak.ts';

export const clientAdapters = { keycloak, auth0, hydra } as const satisfies Record<string, ClientAdapter>;
export type ClientProduct = keyof typeof clientAdapters;
export const clientProducts = Object.keys(clientAdapters) as readonly ClientProduct[];

/** More clients of one file are refused. */
export const maxClients = 10_000;

/**
 * Characters. The hash of a secret is quick, since ours have 256 random bits; a shorter one could be guessed from a store that was stolen,
 * so a new one takes its place.
 */
const shortestSecret = 24;

export type ImportedClient = {
  client_id: string;
  name: string;
  /** `unchanged`: there is a client of this id. */
  outcome: 'imported' | 'approved' | 'unchanged' | 'refused';
  /** What changes for it, or why it is refused. */
  notes: readonly string[];
  /** A new one, where the old one could not be kept: it cannot be shown again. */
  client_secret?: string;
};

type Options = { caller: Caller; approve: boolean; dryRun: boolean };
type ImportDeps = Pick<
  Deps,
  'db' | 'clock' | 'config' | 'clients' | 'apis' | 'attributes' | 'scopes' | 'mail' | 'grants' | 'clientFailures'
>;

/**
 * Registers the clients of another product under the ids that they have there, with their secrets: a product then changes its issuer and
 * nothing else. A client that is there already is left as it is, so the same import again continues.
 * @returns what was done until the end, or until the store failed: new secrets are in it alone.
 */
export async function importClients(
  deps: ImportDeps,
  clients: readonly ForeignClient[],
  options: Options,
): Promise<{ done: readonly ImportedClient[]; stoppedBy?: RequestError }> {
  const done: ImportedClient[] = [];
  for (const client of clients) {
    try {
      done.push(await importClient(deps, client, options));
    } catch (error) {
      if (error instanceof RequestError) return { done, stoppedBy: error };
      throw error;
    }
  }
  return { done };
}

async function importClient(
  deps: ImportDeps,
  client: ForeignClient,
  { caller, approve, dryRun }: Options,
): Promise<ImportedClient> {
  const { client_id, notes } = client;
  const { name } = client.registration;
  const outcome = (of: ImportedClient['outcome'], said: readonly string[] = notes): ImportedClient => ({
    client_id,
    name,
    outcome: of,
    notes: said,
  });
  if (client.refusal !== undefined) return outcome('refused', [client.refusal]);
  if (!isForeignClientId(client_id)) return outcome('refused', [waysOut.id]);
  if (await deps.clients.find(client_id)) return outcome('unchanged', []);
  try {
    const wanted = client.registration.allowed_scopes as readonly string[];
    const registration = readRegistration({
      ...client.registration,
      allowed_scopes: [...(await usableScopes(deps, wanted))],
    });
    const kept = keepable(client);
    const secretNotes = usesSecret(registration) && kept === undefined ? [secretNote(client)] : [];
    const all = [...notes, ...secretNotes];
    const becomes = approve && client.isOff !== true ? ('approved' as const) : ('imported' as const);
    if (dryRun) return outcome(becomes, all);
    const of = { owner_user_id: null, caller, client_id, client_secret: kept };
    const { client_secret, client: registered } = await registerClient(deps, of, registration);
    const problem = becomes === 'approved' ? await approvalProblem(deps, caller, registered) : undefined;
    return {
      ...(problem === undefined ? outcome(becomes, all) : outcome('imported', [...all, problem])),
      ...(secretNotes.length > 0 && client_secret !== null && { client_secret }),
    };
  } catch (error) {
    if (!(error instanceof RequestError) || error.status >= 500) throw error;
    const problems = error.problems.map(({ path, message }) => `${path}: ${message}`);
    return outcome('refused', problems.length > 0 ? problems : [error.message]);
  }
}

/** What has kept a client from being approved, which is registered all the same. */
async function approvalProblem(deps: ImportDeps, caller: Caller, { client_id, revision }: Client) {
  try {
    await approveClient(deps, { client_id, caller }, { revision });
    return undefined;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return `It waits for its review, since it could not be approved: ${error.message}`;
  }
}

const keepable = ({ client_secret }: ForeignClient): string | undefined =>
  client_secret !== undefined && client_secret.length >= shortestSecret && /^[\x21-\x7e]{1,512}$/.test(client_secret)
    ? client_secret
    : undefined;

const secretNote = ({ client_secret }: ForeignClient): string =>
  client_secret === undefined
    ? 'The export has no secret of it, so it gets a new one, which its product has to be given.'
    : `Its secret has less than ${shortestSecret} characters or others than printable ASCII, so it gets a new one, which its product has to be given.`;
