import { isPublic, type Library, quoted, type SnippetValues, secretVariable } from './library.ts';

const signIn = (client: SnippetValues) => `import { Issuer, generators } from 'openid-client';

const redirect_uri = ${quoted(client.redirect_uri)};
const issuer = await Issuer.discover(${quoted(client.issuer)});
const client = new issuer.Client({
  client_id: ${quoted(client.client_id)},
  ${isPublic(client) ? "token_endpoint_auth_method: 'none'" : `client_secret: process.env.${secretVariable}`},
  redirect_uris: [redirect_uri],
  response_types: ['code'],
  id_token_signed_response_alg: ${quoted(client.algorithm)},
});

// Keep what \`checks\` holds in the user's session, and redirect to \`url\`.
export function startSignIn() {
  const checks = { code_verifier: generators.codeVerifier(), state: generators.state() };
  const url = client.authorizationUrl({
    scope: ${quoted(client.scope)},
    state: checks.state,
    code_challenge: generators.codeChallenge(checks.code_verifier),
    code_challenge_method: 'S256',
  });
  return { url, checks };
}

// At the redirect URI, with the query that came: "?code=...&state=...&iss=..."
export function finishSignIn(query, checks) {
  return client.callback(redirect_uri, Object.fromEntries(new URLSearchParams(query)), checks);
}

// Name and email address.
export function readUser(tokens) {
  return client.userinfo(tokens);
}

// Redirect there after your own session has ended.
export function signOutUrl(id_token) {
  return client.endSessionUrl({
    id_token_hint: id_token,
    post_logout_redirect_uri: ${quoted(client.post_logout_redirect_uri)},
  });
}
`;

export const openidClient5: Library = {
  id: 'openid-client-5',
  name: 'openid-client 5',
  ecosystem: 'Node.js',
  kinds: ['web', 'native'],
  homepage: 'https://github.com/panva/openid-client/tree/v5.x',
  versions: 'openid-client 5.7.1',
  algorithms: ['RS256', 'EdDSA'],
  authentication: 'client_secret_basic',
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: "code_challenge_method: 'S256' in authorizationUrl",
  sign_out: 'endSessionUrl()',
  callback: null,
  symptoms: [
    {
      without: 'pkce',
      seen: 'OPError: invalid_request (code_challenge is missing. …)',
      setting: "code_challenge_method: 'S256' in authorizationUrl, code_verifier in callback",
    },
    {
      without: 'algorithm',
      seen: 'RPError: unexpected JWT alg received, expected RS256, got: EdDSA',
      setting: "id_token_signed_response_alg: 'EdDSA'",
    },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: 'endSessionUrl()' },
  ],
  snippets: [{ file: 'sign-in.mjs', text: signIn }],
};
