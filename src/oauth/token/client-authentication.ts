import type { AuthenticationMethod } from '../../clients/choices.ts';
import { type Client, isClientId } from '../../clients/client.ts';
import type { FailureCode } from '../../clients/failures.ts';
import { isCredentialId } from '../../entitlements/service-credentials/service-credential.ts';
import { now } from '../../platform/clock.ts';
import { invalidClient, invalidRequest } from '../../platform/errors.ts';
import { readBasic } from '../../platform/http/access.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { findActiveSecret, matchesActiveSecret } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';

type ClientDeps = Pick<Deps, 'clock' | 'clients' | 'clientFailures' | 'clientSecretLimits' | 'clientSecretUses'>;

export type Presented = {
  authorization: string | undefined;
  form: Parameters;
  /** Where the request came from; failures are counted by it. */
  address: string;
};

type Credentials = { client_id: string; client_secret: string | undefined };

/**
 * An approved client, by its credentials, presented by its own method if it names one (`token_endpoint_auth_method`).
 * @throws {RequestError} as {@link identifyClient}; `invalid_client` also for a client that is not approved.
 */
export async function authenticateClient(deps: ClientDeps, presented: Presented): Promise<Client> {
  const client = await identifyClient(deps, presented);
  const method = client.token_endpoint_auth_method;
  if (method !== null && !methodsOf(presented).includes(method)) {
    noteFailure(deps, client, presented, 'authentication_method');
    throw invalidClient(`the client authenticates by ${method}`);
  }
  if (client.status !== 'approved') {
    noteFailure(deps, client, presented, 'client_not_approved');
    throw invalidClient(`client is ${client.status}`);
  }
  return client;
}

/**
 * A client in any status, by HTTP Basic, by the body, or, if it is public, by `client_id` alone (OAuth 2.1 §2.4).
 * @throws {RequestError} `invalid_client` for an unknown client, a wrong secret, and a confidential client without one;
 * `invalid_request` for two methods that differ; `rate_limited`.
 */
export async function identifyClient(deps: ClientDeps, presented: Presented): Promise<Client> {
  const credentials = readCredentials(presented);
  if (credentials === undefined) throw invalidRequest('client_id is missing.');
  if (isCredentialId(credentials.client_id))
    throw invalidClient(
      'a service credential',
      "These are the ID and secret of a service credential. This endpoint takes a client's.",
    );
  if (!isClientId(credentials.client_id)) throw invalidClient('not a client_id');
  deps.clientSecretLimits.check(credentials.client_id, presented.address);

  const client = await deps.clients.find(credentials.client_id);
  if (!client) throw invalidClient('unknown client');
  const { client_secret } = credentials;
  const secret = client_secret && findActiveSecret(client.secrets, client_secret, now(deps));
  if (client.client_type === 'public' ? client_secret !== undefined : !secret) {
    noteFailure(deps, client, presented, failureCodeOf(client, credentials.client_secret));
    if (credentials.client_secret !== undefined)
      await deps.clientSecretLimits.failed(credentials.client_id, presented.address);
    throw invalidClient(credentials.client_secret === undefined ? 'no secret' : 'wrong secret');
  }
  if (secret) deps.clientSecretUses.note(secret.secret_id);
  return client;
}

/** True when the request carries something to authenticate with, rather than a bare client_id. */
export const presentsCredentials = ({ authorization, form }: Presented): boolean =>
  authorization !== undefined || form.client_secret !== undefined;

/** OpenID Connect Core §9; both, if it sent both. */
function methodsOf(presented: Presented): AuthenticationMethod[] {
  if (readCredentials(presented)?.client_secret === undefined) return ['none'];
  const { authorization, form } = presented;
  const inBody = form.client_secret === undefined ? [] : (['client_secret_post'] as const);
  return authorization === undefined ? [...inBody] : ['client_secret_basic', ...inBody];
}

const noteFailure = (
  deps: Pick<Deps, 'clientFailures'>,
  { client_id }: Client,
  { address }: Presented,
  code: FailureCode,
) => deps.clientFailures.record({ client_id, stage: 'client_authentication', address }, { code });

/** The diagnosis that only the owner of the client reads. */
function failureCodeOf(client: Client, client_secret: string | undefined): FailureCode {
  if (client.client_type === 'public') return 'secret_of_public';
  if (client_secret === undefined) return 'secret_missing';
  const ignoringExpiry = client.secrets.map((secret) => ({ ...secret, expires_at: null }));
  return matchesActiveSecret(ignoringExpiry, client_secret, 0) ? 'secret_ended' : 'secret_wrong';
}

/**
 * A client that sends its id or secret twice, in HTTP Basic and in the body, authenticates once if they agree (decisions §6). An
 * empty secret counts as none (RFC 6749 §2.3.1).
 * @returns undefined without a client_id. @throws {RequestError} `invalid_client`; `invalid_request` if they differ.
 */
export function readCredentials({ authorization, form }: Presented): Credentials | undefined {
  const { client_id, client_secret } = form;
  if (authorization === undefined) return client_id === undefined ? undefined : { client_id, client_secret };
  if (client_secret !== undefined && !/^basic /i.test(authorization)) throw differing('client_secret');
  const basic = readBasic(authorization);
  if (client_id !== undefined && client_id !== basic.client_id) throw differing('client_id');
  if (client_secret !== undefined && client_secret !== basic.client_secret) throw differing('client_secret');
  return { client_id: basic.client_id, client_secret: basic.client_secret || undefined };
}

const differing = (parameter: string) =>
  invalidRequest(`${parameter} in the body differs from the one in HTTP Basic. Send it once, or the same twice.`);
