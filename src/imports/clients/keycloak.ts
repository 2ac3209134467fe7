import { isMembers, type Members, textOf } from '../adapters/adapter.ts';
import { type ClientAdapter, grantNotes, pkceNote, textsOf, waysOut, withoutPatterns } from './foreign-client.ts';

// Keycloak's realm export, or a list of its clients (ClientRepresentation, Keycloak 26).

/** Clients that every realm has. */
const ofTheRealm: ReadonlySet<string> = new Set([
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
]);

export const keycloak: ClientAdapter = {
  list: 'clients',
  id: 'clientId',

  toClient(client) {
    const client_id = textOf(client.clientId) ?? '';
    if (ofTheRealm.has(client_id)) return undefined;
    const attributes = isMembers(client.attributes) ? client.attributes : {};
    const { exact, notes } = withoutPatterns(textsOf(client.redirectUris).map((uri) => absolute(client, uri)));
    const isPublic = client.publicClient === true;
    const name = textOf(client.name)?.replace(/^\$\{client_(.+)\}$/, '$1') ?? client_id;
    const keys = textOf(attributes['jwks.url']);
    return {
      client_id,
      client_secret: isPublic ? undefined : textOf(client.secret),
      registration: {
        name,
        client_type: isPublic ? 'public' : 'confidential',
        redirect_uris: exact,
        post_logout_redirect_uris: logoutUris(attributes, exact),
        ...(textOf(attributes['backchannel.logout.url']) && {
          backchannel_logout_uri: textOf(attributes['backchannel.logout.url']),
        }),
        allowed_scopes: scopesOf(client),
        // Its tokens are RS256, and its ID tokens have the claims of the scopes.
        id_token_signed_response_alg: 'RS256',
        claims_in_id_token: true,
        ...(client.clientAuthenticatorType === 'client-jwt' &&
          keys && { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: keys }),
      },
      notes: [
        ...notes,
        ...(textOf(attributes['pkce.code.challenge.method']) === 'S256' ? [] : [pkceNote]),
        ...grantNotes(otherGrants(client)),
        ...(client.enabled === false ? ['It is switched off there, so it waits for its review here.'] : []),
      ],
      isOff: client.enabled === false,
      refusal: refusalOf(client, exact),
    };
  },
};

function refusalOf(client: Members, exact: readonly string[]): string | undefined {
  if ((client.protocol ?? 'openid-connect') !== 'openid-connect') return waysOut.saml;
  if (client.bearerOnly === true) return waysOut.api;
  if (client.standardFlowEnabled === false)
    return client.serviceAccountsEnabled === true ? waysOut.machine : waysOut.noCode;
  return exact.length === 0 ? waysOut.noRedirect : undefined;
}

/** A redirect URI that begins with a slash is below the root URL. */
function absolute({ rootUrl }: Members, uri: string): string {
  const root = textOf(rootUrl);
  return uri.startsWith('/') && root && !root.includes('$') ? root.replace(/\/$/, '') + uri : uri;
}

/** `##` between them; `+` stands for the redirect URIs. */
function logoutUris(attributes: Members, redirectUris: readonly string[]): string[] {
  const uris = (textOf(attributes['post.logout.redirect.uris']) ?? '').split('##').filter(Boolean);
  return withoutPatterns(uris.includes('+') ? [...uris, ...redirectUris].filter((uri) => uri !== '+') : uris).exact;
}

const otherGrants = (client: Members): string[] => [
  ...(client.implicitFlowEnabled === true ? ['implicit'] : []),
  ...(client.directAccessGrantsEnabled === true ? ['password'] : []),
  ...(client.serviceAccountsEnabled === true ? ['client_credentials'] : []),
];

function scopesOf(client: Members): string[] {
  const named = [...textsOf(client.defaultClientScopes), ...textsOf(client.optionalClientScopes)];
  const known = ['profile', 'email', 'offline_access', 'groups'].filter((scope) => named.includes(scope));
  return ['openid', ...(named.length === 0 ? ['profile', 'email'] : known)];
}
