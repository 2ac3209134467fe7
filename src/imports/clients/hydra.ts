import { linksIn } from '../../clients/from-outside/read-metadata.ts';
import { isMembers, listOf, type Members, textOf } from '../adapters/adapter.ts';
import {
  type ClientAdapter,
  grantNotes,
  methodOf,
  pkceNote,
  textsOf,
  waysOut,
  withoutPatterns,
} from './foreign-client.ts';

// The answer of Ory Hydra to GET /admin/clients (2.x), or `hydra list oauth2-clients --format json`.

/** Of Hydra, and others that spell metadata as RFC 7591 does. */
export const hydra: ClientAdapter = {
  list: 'items',
  id: 'client_id',

  toClient(client) {
    const client_id = textOf(client.client_id) ?? '';
    const { exact, notes } = withoutPatterns(textsOf(client.redirect_uris));
    const grants = textsOf(client.grant_types);
    const method = methodOf(client.token_endpoint_auth_method) ?? 'client_secret_basic';
    const isPublic = method === 'none';
    const byKey = method === 'private_key_jwt';
    return {
      client_id,
      // The list has none: Hydra keeps hashes of them. A file to which they were added by hand may have it.
      client_secret: isPublic || byKey ? undefined : textOf(client.client_secret),
      registration: {
        name: textOf(client.client_name) ?? client_id,
        client_type: isPublic ? 'public' : 'confidential',
        redirect_uris: exact,
        post_logout_redirect_uris: withoutPatterns(textsOf(client.post_logout_redirect_uris)).exact,
        ...linksIn(client),
        ...logoutOf(client),
        allowed_scopes: scopesOf(textOf(client.scope) ?? ''),
        id_token_signed_response_alg: 'RS256',
        ...(!isPublic && { token_endpoint_auth_method: method }),
        ...(byKey && keysOf(client)),
      },
      notes: [...notes, pkceNote, ...grantNotes(grants)],
      refusal: refusalOf(grants, exact),
    };
  },
};

function logoutOf(client: Members): Record<string, string> {
  const backchannel_logout_uri = textOf(client.backchannel_logout_uri);
  return backchannel_logout_uri === undefined ? {} : { backchannel_logout_uri };
}

function keysOf({ jwks, jwks_uri }: Members): Record<string, unknown> {
  const uri = textOf(jwks_uri);
  if (uri) return { jwks_uri: uri };
  return isMembers(jwks) && listOf(jwks.keys).length > 0 ? { jwks } : {};
}

function scopesOf(scope: string): string[] {
  const named = scope.split(' ').map((name) => (name === 'offline' ? 'offline_access' : name));
  return ['openid', ...['profile', 'email', 'offline_access', 'groups'].filter((name) => named.includes(name))];
}

function refusalOf(grants: readonly string[], exact: readonly string[]): string | undefined {
  if (grants.length > 0 && !grants.includes('authorization_code'))
    return grants.includes('client_credentials') ? waysOut.machine : waysOut.noCode;
  return exact.length === 0 ? waysOut.noRedirect : undefined;
}
