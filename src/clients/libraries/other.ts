import { isPublic, type Library, lines, quotedForShell, secretVariable } from './library.ts';

export const other: Library = {
  id: 'other',
  name: 'Another library',
  ecosystem: 'Other',
  kinds: ['web', 'spa', 'native', 'mcp', 'service'],
  homepage: 'https://openid.net/developers/certified-openid-connect-implementations/',
  versions: '',
  algorithms: ['RS256', 'EdDSA'],
  authentication: null,
  claims_in_id_token: null,
  refreshes_in_parallel: false,
  pkce: 'code_challenge_method=S256',
  sign_out: 'end_session_endpoint',
  callback: null,
  symptoms: [
    { without: 'pkce', seen: 'invalid_request: code_challenge is missing.', setting: 'code_challenge_method=S256' },
    {
      without: 'algorithm',
      seen: 'alg not supported EdDSA, unsupported algorithm, invalid signature; or an id token is refused without a reason',
      setting: null,
    },
    {
      without: 'claims',
      seen: 'localpart is invalid, could not extract user attributes, email is missing; or users without a name and an address',
      setting: null,
    },
  ],
  snippets: [
    {
      file: '.env',
      text: (client) =>
        lines(
          `OIDC_ISSUER=${quotedForShell(client.issuer)}`,
          `OIDC_CLIENT_ID=${quotedForShell(client.client_id)}`,
          !isPublic(client) && `${secretVariable}='paste-the-secret-here'`,
          `OIDC_REDIRECT_URI=${quotedForShell(client.redirect_uri)}`,
          `OIDC_POST_LOGOUT_REDIRECT_URI=${quotedForShell(client.post_logout_redirect_uri)}`,
          `OIDC_SCOPE=${quotedForShell(client.scope)}`,
        ),
    },
  ],
};
