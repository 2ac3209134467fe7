import { type AuthenticationMethod, methodNames } from '../../clients/authentication-methods.ts';
import { type Client, isClientId } from '../../clients/client.ts';
import type { Failure } from '../../clients/failures.ts';
import { isCredentialId } from '../../entitlements/service-credentials/service-credential.ts';
import { invalidClient, invalidRequest } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { differing } from './client-secret.ts';
import type { ClientRequest, ProofDeps } from './method.ts';
import { type Endpoint, methods, methodsAt } from './methods.ts';

type ClientDeps = ProofDeps & Pick<Deps, 'clients' | 'clientFailures'>;

/** What a request shows for the client that it names. */
export type Presented = {
  client_id: string;
  proof: string | undefined;
  /** More than one only where they agree. */
  methods: readonly AuthenticationMethod[];
};

/**
 * An approved client, by its credentials, presented by its own method if it names one (`token_endpoint_auth_method`).
 * @throws {RequestError} as {@link requirePresented} and {@link identifyClient}; `invalid_client` also for a client that is not approved.
 */
export async function authenticateClient(
  deps: ClientDeps,
  request: ClientRequest,
  endpoint: Endpoint,
): Promise<Client> {
  const { client, methods } = await identifyClient(deps, request, endpoint, requirePresented(request, endpoint));
  const method = client.token_endpoint_auth_method;
  if (method !== null && !methods.includes(method)) {
    noteFailure(deps, client, request, { code: 'authentication_method' });
    throw invalidClient(`the client authenticates by ${method}`);
  }
  if (client.status !== 'approved') {
    noteFailure(deps, client, request, { code: 'client_not_approved' });
    throw invalidClient(`client is ${client.status}`);
  }
  return client;
}

/**
 * A client in any status (OAuth 2.1 §2.4), and how it has proven itself.
 * @throws {RequestError} `invalid_client` for an unknown client, one that is not proven, and a method that the endpoint does not
 * take; `rate_limited`.
 */
export async function identifyClient(
  deps: ClientDeps,
  request: ClientRequest,
  endpoint: Endpoint,
  { client_id, proof, methods: shownBy }: Presented,
): Promise<{ client: Client; methods: readonly AuthenticationMethod[] }> {
  if (isCredentialId(client_id))
    throw invalidClient(
      'a service credential',
      "A service credential gets no tokens: it calls Signet's own API. This endpoint takes the ID and secret of a client.",
    );
  if (!isClientId(client_id)) throw invalidClient('not a client_id');
  deps.clientSecretLimits.check(client_id, request.address);

  const client = await deps.clients.find(client_id);
  if (!client) throw invalidClient('unknown client');
  const proven: readonly AuthenticationMethod[] = proof === undefined ? ['none'] : shownBy;
  const refusal = await methods[proven[0]!].prove(deps, client, { proof, address: request.address });
  if (refusal !== undefined) {
    const { code, description, detail } = refusal;
    noteFailure(deps, client, request, { code, ...(detail && { detail }) });
    throw invalidClient(code, description);
  }
  if (!isTaken(proven, endpoint)) throw invalidClient(`${proven} at ${endpoint}`);
  return { client, methods: proven };
}

const isTaken = (names: readonly AuthenticationMethod[], endpoint: Endpoint): boolean =>
  names.some((name) => methodsAt[endpoint].some((taken) => taken === name));

/**
 * Reads by whatever method there is. A client that sends its id or secret twice, in HTTP Basic and in the body, authenticates
 * once if they agree (decisions §6).
 * @returns undefined without a client_id. @throws {RequestError} `invalid_client`; `invalid_request` if they differ.
 */
function readPresented(request: ClientRequest): Presented | undefined {
  let { client_id } = request.form;
  let proof: string | undefined;
  const shownBy: AuthenticationMethod[] = [];
  for (const name of methodNames) {
    const shown = methods[name].presents(request);
    if (shown === undefined) continue;
    client_id ??= shown.client_id;
    if (shown.client_id !== undefined && shown.client_id !== client_id) throw differing('client_id');
    if (shownBy.length > 0 && shown.proof !== proof)
      throw name === 'private_key_jwt' ? twoMethods() : differing('client_secret');
    proof = shown.proof;
    shownBy.push(name);
  }
  if (client_id === undefined) return undefined;
  return { client_id, proof, methods: shownBy.length > 0 ? shownBy : ['none'] };
}

/** RFC 6749 §2.3 */
const twoMethods = () => invalidRequest('Authenticate once: by a client_assertion, or by a client secret.');

/** Whether there is something to authenticate with, rather than a bare client_id. @throws {RequestError} as {@link readPresented}. */
export const presentsCredentials = (request: ClientRequest): boolean =>
  methodNames.some((name) => methods[name].presents(request) !== undefined);

/** @throws {RequestError} as {@link readPresented}; also without a client, and where the endpoint takes none of its methods. */
export function requirePresented(request: ClientRequest, endpoint: Endpoint): Presented {
  const presented = readPresented(request);
  if (presented && isTaken(presented.methods, endpoint)) return presented;
  if (presented === undefined && isTaken(['none'], endpoint)) throw invalidRequest('client_id is missing.');
  throw invalidClient('no credentials');
}

const noteFailure = (
  deps: Pick<Deps, 'clientFailures'>,
  { client_id }: Client,
  { address }: ClientRequest,
  failure: Failure,
) => deps.clientFailures.record({ client_id, stage: 'client_authentication', address }, failure);
