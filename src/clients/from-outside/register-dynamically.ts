import type { Deps as PlatformDeps } from '../../platform/deps.ts';
import { newId } from '../../platform/ids.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';
import type { ClientDeps } from '../change-client.ts';
import type { Client } from '../client.ts';
import type { Deps } from '../deps.ts';
import { linkFields } from '../fields.ts';
import { readMetadata, standardNameOf } from './read-metadata.ts';
import { registerFromOutside } from './register-from-outside.ts';

/**
 * A client that registers itself (RFC 7591 §3). It gets an id and no secret, and waits for its review.
 * @param address of the requester.
 * @throws {RequestError} `invalid_redirect_uri`, `invalid_client_metadata`; `rate_limited`.
 */
export async function registerDynamically(
  deps: ClientDeps & Pick<PlatformDeps, 'config'> & Pick<Deps, 'scopes'>,
  metadata: unknown,
  address: string,
): Promise<Client> {
  const wanted = readMetadata(metadata, await deps.scopes.read());
  const limit = deps.config.limits.outsideClientsPerAddress;
  await addressLimit(deps, { name: 'outside-address', limit, windowSeconds: 3600 }).take(address);
  return registerFromOutside(deps, { ...wanted, client_id: newId('cl'), origin: 'registration', address });
}

/** As it was registered, by the names of RFC 7591 §2: the client reads here what was replaced (§3.2.1). */
export function metadataOf(client: Client) {
  const { client_id, name, redirect_uris, application_type, token_endpoint_auth_method, allowed_scopes } = client;
  const links = linkFields.map((field) => [standardNameOf(field), client[field]] as const);
  const { jwks, jwks_uri, id_token_signed_response_alg } = client;
  return {
    client_id,
    client_id_issued_at: client.created_at,
    client_name: name,
    redirect_uris,
    application_type,
    token_endpoint_auth_method: token_endpoint_auth_method ?? 'none',
    grant_types: [
      'authorization_code',
      ...(allowed_scopes.some((one) => one === 'offline_access') ? ['refresh_token'] : []),
    ],
    response_types: ['code'],
    scope: allowed_scopes.join(' '),
    id_token_signed_response_alg,
    ...(jwks !== null && { jwks }),
    ...(jwks_uri !== null && { jwks_uri }),
    ...Object.fromEntries(links.filter(([, url]) => url !== null)),
  };
}
