import { isPublic, type Library, lines, pathOf, quoted, type SnippetValues, secretVariable } from './library.ts';

const conf = (client: SnippetValues) =>
  lines(
    `OIDCProviderMetadataURL ${quoted(`${client.issuer}/.well-known/openid-configuration`)}`,
    `OIDCClientID ${quoted(client.client_id)}`,
    isPublic(client) ? 'OIDCProviderTokenEndpointAuth none' : `OIDCClientSecret "\${${secretVariable}}"`,
    `OIDCRedirectURI ${quoted(client.redirect_uri)}`,
    `OIDCScope ${quoted(client.scope)}`,
    'OIDCPKCEMethod S256',
    `OIDCCryptoPassphrase "\${OIDC_CRYPTO_PASSPHRASE}"`,
    'OIDCRemoteUserClaim sub',
    '',
    `# Signs out here and at the provider: a link to ${pathOf(client.redirect_uri)}?logout=${encodeURIComponent(client.post_logout_redirect_uri)}`,
    '',
    '<Location "/">',
    '  AuthType openid-connect',
    '  Require valid-user',
    '</Location>',
  );

export const modAuthOpenidc: Library = {
  id: 'mod-auth-openidc',
  name: 'mod_auth_openidc (Apache)',
  ecosystem: 'Proxy',
  kinds: ['web'],
  homepage: 'https://github.com/OpenIDC/mod_auth_openidc',
  versions: 'mod_auth_openidc 2.4.12.3 with Apache 2.4.71',
  algorithms: ['RS256'],
  authentication: 'client_secret_basic',
  claims_in_id_token: false,
  refreshes_in_parallel: true,
  pkce: 'OIDCPKCEMethod S256',
  sign_out: 'OIDCRedirectURI?logout=',
  callback: null,
  symptoms: [
    {
      without: 'pkce',
      seen: 'SSO to this module without specifying a "target_link_uri" parameter is not possible',
      setting: 'OIDCPKCEMethod S256',
    },
    {
      without: 'algorithm',
      seen: 'OpenID Connect Provider error: Error in handling response type.; log: cjose_jws_import failed: invalid argument',
      setting: null,
    },
    {
      without: 'retry_window',
      seen: 'log: oidc_refresh_token_grant: invalid_grant; the next page asks for a sign-in',
      setting: null,
    },
    {
      without: 'sign_out',
      seen: 'the next sign-in needs no password',
      setting: 'OIDCRedirectURI?logout=',
    },
  ],
  snippets: [{ file: 'auth_openidc.conf', text: conf }],
};
