import { importedKey, isPublic, type Library, quoted, type SnippetValues, secretVariable } from './library.ts';

const signIn = (client: SnippetValues) => {
  const { issuer, client_id, redirect_uri, post_logout_redirect_uri, scope } = client;
  const usesSecret = !isPublic(client) && !client.signs;
  const bySecret = usesSecret ? `client.ClientSecretBasic(env.${secretVariable})` : 'client.None()';
  const authentication = client.signs ? 'client.PrivateKeyJwt({ key, kid: jwk.kid })' : bySecret;
  return `${usesSecret ? "import { env } from 'node:process';\n" : ''}import * as client from 'openid-client';

${client.signs ? importedKey : ''}const redirect_uri = ${quoted(redirect_uri)};
const config = await client.discovery(
  new URL(${quoted(issuer)}),
  ${quoted(client_id)},
  {},
  ${authentication},${issuer.startsWith('http:') ? '\n  { execute: [client.allowInsecureRequests] }, // this issuer is on http' : ''}
);

// Keep what \`checks\` holds in the user's session, and redirect to \`url\`.
export async function startSignIn() {
  const checks = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState() };
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: ${quoted(scope)},
    state: checks.expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  return { url, checks };
}

// At the redirect URI, with the query that came: "?code=...&state=...&iss=..."
export async function finishSignIn(query, checks) {
  const answer = new URL(redirect_uri);
  answer.search = query;
  return client.authorizationCodeGrant(config, answer, checks);
}

// Name and email address.
export function readUser(tokens) {
  return client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
}

// Redirect there after your own session has ended.
export function signOutUrl(id_token) {
  return client.buildEndSessionUrl(config, {
    id_token_hint: id_token,
    post_logout_redirect_uri: ${quoted(post_logout_redirect_uri)},
  });
}
`;
};

export const openidClient: Library = {
  id: 'openid-client',
  name: 'openid-client 6',
  ecosystem: 'Node.js',
  kinds: ['web', 'native'],
  homepage: 'https://github.com/panva/openid-client',
  versions: 'openid-client 6.8.9',
  algorithms: ['EdDSA', 'RS256'],
  signs: true,
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: "code_challenge_method: 'S256' in buildAuthorizationUrl",
  sign_out: 'buildEndSessionUrl()',
  callback: null,
  symptoms: [
    {
      without: 'pkce',
      seen: 'AuthorizationResponseError: invalid_request, code_challenge is missing.',
      setting: "code_challenge_method: 'S256' in buildAuthorizationUrl, pkceCodeVerifier in authorizationCodeGrant",
    },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: 'buildEndSessionUrl()' },
  ],
  snippets: [{ file: 'sign-in.mjs', text: signIn }],
};
