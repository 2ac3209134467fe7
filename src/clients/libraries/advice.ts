import { usesSecret } from '../authentication-methods.ts';
import type { Client } from '../client.ts';
import { findLibrary, homeOf, mainRedirectUri } from './catalogue.ts';
import type { Library, SnippetValues, Symptom } from './library.ts';

// What a library is to one client.

/** @param issuer of this server. */
export function snippetValuesOf(client: Client, issuer: string): SnippetValues {
  const { client_id, client_type, redirect_uris, post_logout_redirect_uris, id_token_signed_response_alg } = client;
  const redirect_uri = mainRedirectUri(redirect_uris);
  return {
    client_id,
    client_type,
    issuer,
    redirect_uri,
    post_logout_redirect_uri: post_logout_redirect_uris[0] ?? homeOf(redirect_uri),
    scope: client.allowed_scopes.join(' '),
    algorithm: id_token_signed_response_alg,
    signs: client.token_endpoint_auth_method === 'private_key_jwt',
  };
}

export const gaps = ['algorithm', 'claims', 'retry_window', 'post_logout', 'authentication', 'key', 'query'] as const;
export type Gap = (typeof gaps)[number];

/** What a library needs and this client does not have. */
export function gapsOf(library: Library, client: Client): readonly Gap[] {
  const { token_endpoint_auth_method: method, redirect_uris } = client;
  const found: Readonly<Record<Gap, boolean>> = {
    algorithm: !library.algorithms.includes(client.id_token_signed_response_alg),
    claims: library.claims_in_id_token === true && !client.claims_in_id_token,
    retry_window: library.refreshes_in_parallel && refreshes(client) && client.refresh_retry_window === 0,
    post_logout: library.sign_out !== null && client.post_logout_redirect_uris.length === 0,
    authentication:
      usesSecret(client) && library.authentication !== null && method !== null && method !== library.authentication,
    key: method === 'private_key_jwt' && library.signs !== true && library.kinds[0] !== 'service',
    query: library.id === 'openid-client' && redirect_uris.every((uri) => uri.includes('?')),
  };
  return gaps.filter((gap) => found[gap]);
}

const refreshes = ({ allowed_scopes }: Pick<Client, 'allowed_scopes'>) => allowed_scopes.includes('offline_access');

/** Seconds: requests that were sent together have arrived by then, and a copied token is of no use for long. */
const proposedWindow = 10;

/** The retry window that a reviewer is advised to grant (decisions §7); undefined: the strict default. */
export const proposedRetryWindow = (client: Pick<Client, 'library' | 'allowed_scopes'>): number | undefined =>
  findLibrary(client.library)?.refreshes_in_parallel && refreshes(client) ? proposedWindow : undefined;

/** What this client can run into: not what its registration rules out. Every library verifies RS256. */
export const symptomsFor = ({ symptoms }: Library, client: Client): readonly Symptom[] =>
  symptoms.filter(({ without }) => {
    if (without === 'algorithm') return client.id_token_signed_response_alg !== 'RS256';
    if (without === 'claims') return !client.claims_in_id_token;
    return without !== 'retry_window' || (refreshes(client) && client.refresh_retry_window === 0);
  });
