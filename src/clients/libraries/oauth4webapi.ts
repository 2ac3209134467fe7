import { importedKey, isPublic, type Library, quoted, type SnippetValues, secretVariable } from './library.ts';

const signIn = (client: SnippetValues) => {
  const onHttp = client.issuer.startsWith('http:');
  const options = onHttp ? ', { [oauth.allowInsecureRequests]: true }' : ''; // in discovery, and in each request
  const bySecret = isPublic(client) ? 'oauth.None()' : `oauth.ClientSecretBasic(process.env.${secretVariable})`;
  const authentication = client.signs ? 'oauth.PrivateKeyJwt({ key, kid: jwk.kid })' : bySecret;
  return `import * as oauth from 'oauth4webapi';

${client.signs ? importedKey : ''}const redirect_uri = ${quoted(client.redirect_uri)};
const issuer = new URL(${quoted(client.issuer)});
const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer${options}));
const client = { client_id: ${quoted(client.client_id)}${client.algorithm === 'EdDSA' ? '' : `, id_token_signed_response_alg: ${quoted(client.algorithm)}`} };
const authentication = ${authentication};

// Keep what \`checks\` holds in the user's session, and redirect to \`url\`.
export async function startSignIn() {
  const checks = { code_verifier: oauth.generateRandomCodeVerifier(), state: oauth.generateRandomState() };
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri,
    response_type: 'code',
    scope: ${quoted(client.scope)},
    state: checks.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(checks.code_verifier),
    code_challenge_method: 'S256',
  });
  return { url, checks };
}

// At the redirect URI, with the query that came: "?code=...&state=...&iss=..."
export async function finishSignIn(query, { code_verifier, state }) {
  const parameters = oauth.validateAuthResponse(server, client, new URLSearchParams(query), state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    redirect_uri,
    code_verifier${onHttp ? ',\n    { [oauth.allowInsecureRequests]: true },' : ','}
  );
  return oauth.processAuthorizationCodeResponse(server, client, response, { requireIdToken: true });
}

// Name and email address.
export async function readUser(tokens) {
  const response = await oauth.userInfoRequest(server, client, tokens.access_token${options});
  return oauth.processUserInfoResponse(server, client, oauth.getValidatedIdTokenClaims(tokens).sub, response);
}

// Redirect there after your own session has ended.
export function signOutUrl(id_token) {
  const url = new URL(server.end_session_endpoint);
  url.search = new URLSearchParams({
    id_token_hint: id_token,
    post_logout_redirect_uri: ${quoted(client.post_logout_redirect_uri)},
  });
  return url;
}
`;
};

export const oauth4webapi: Library = {
  id: 'oauth4webapi',
  name: 'oauth4webapi',
  ecosystem: 'Node.js',
  kinds: ['web', 'spa', 'native'],
  homepage: 'https://github.com/panva/oauth4webapi',
  versions: 'oauth4webapi 3.8.8',
  algorithms: ['EdDSA', 'RS256'],
  signs: true,
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: "code_challenge_method: 'S256' in the authorization URL",
  sign_out: 'server.end_session_endpoint',
  callback: null,
  symptoms: [
    {
      without: 'pkce',
      seen: 'AuthorizationResponseError: invalid_request, code_challenge is missing.',
      setting: "code_challenge_method: 'S256' in the authorization URL",
    },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: 'server.end_session_endpoint' },
  ],
  snippets: [{ file: 'sign-in.mjs', text: signIn }],
};
