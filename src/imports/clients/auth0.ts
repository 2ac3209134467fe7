import { linksIn } from '../../clients/from-outside/read-metadata.ts';
import { isMembers, type Members, textOf } from '../adapters/adapter.ts';
import {
  type ClientAdapter,
  grantNotes,
  methodOf,
  pkceNote,
  textsOf,
  waysOut,
  withoutPatterns,
} from './foreign-client.ts';

// The answer of Auth0's Management API to GET /api/v2/clients, with the scope read:client_keys, or one page of it.

export const auth0: ClientAdapter = {
  list: 'clients',
  id: 'client_id',

  toClient(client) {
    if (client.global === true) return undefined;
    const client_id = textOf(client.client_id) ?? '';
    const { exact, notes } = withoutPatterns(textsOf(client.callbacks));
    const type = textOf(client.app_type);
    const method = textOf(client.token_endpoint_auth_method);
    const isPublic = method === 'none' || (method === undefined && (type === 'spa' || type === 'native'));
    const grants = textsOf(client.grant_types);
    const logout = isMembers(client.oidc_logout) ? textsOf(client.oidc_logout.backchannel_logout_urls)[0] : undefined;
    return {
      client_id,
      client_secret: isPublic ? undefined : textOf(client.client_secret),
      registration: {
        name: textOf(client.name) ?? client_id,
        client_type: isPublic ? 'public' : 'confidential',
        ...(type === 'spa' && { application_type: 'spa' }),
        ...(type === 'native' && { application_type: 'native' }),
        redirect_uris: exact,
        post_logout_redirect_uris: withoutPatterns(textsOf(client.allowed_logout_urls)).exact,
        ...linksIn({ initiate_login_uri: client.initiate_login_uri }),
        ...(logout && { backchannel_logout_uri: logout }),
        allowed_scopes: ['openid', 'profile', 'email', ...(grants.includes('refresh_token') ? ['offline_access'] : [])],
        id_token_signed_response_alg: 'RS256',
        claims_in_id_token: true,
        ...(!isPublic && methodOf(method) && { token_endpoint_auth_method: methodOf(method) }),
      },
      notes: [
        ...notes,
        ...(type === 'spa' || type === 'native' ? [] : [pkceNote]),
        ...grantNotes(grants.filter((grant) => !/^urn:|^http|mfa|passwordless/.test(grant))),
        ...(algorithmOf(client) === 'HS256'
          ? ['Its ID tokens are signed with its secret there (HS256); here they are RS256, so set that in its library.']
          : []),
      ],
      refusal: refusalOf(type, grants, exact),
    };
  },
};

const algorithmOf = ({ jwt_configuration: jwt }: Members): unknown => (isMembers(jwt) ? jwt.alg : undefined);

function refusalOf(type: string | undefined, grants: readonly string[], exact: readonly string[]): string | undefined {
  if (type === 'non_interactive') return waysOut.machine;
  if (type === 'resource_server') return waysOut.api;
  if (grants.length > 0 && !grants.includes('authorization_code')) return waysOut.noCode;
  return exact.length === 0 ? waysOut.noRedirect : undefined;
}
