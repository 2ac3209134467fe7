import { isPublic, type Library, lines, quoted, type SnippetValues, secretVariable } from './library.ts';

const app = (client: SnippetValues) =>
  lines(
    "import cookie from '@fastify/cookie';",
    "import oauth2 from '@fastify/oauth2';",
    "import Fastify from 'fastify';",
    '',
    'const app = Fastify();',
    'app.register(cookie);',
    'app.register(oauth2, {',
    "  name: 'signet',",
    `  discovery: { issuer: ${quoted(client.issuer)} },`,
    isPublic(client)
      ? `  credentials: { client: { id: ${quoted(client.client_id)} } },`
      : `  credentials: { client: { id: ${quoted(client.client_id)}, secret: process.env.${secretVariable} } },`,
    `  scope: ${JSON.stringify(client.scope.split(' '))},`,
    "  pkce: 'S256',",
    "  startRedirectPath: '/signin',",
    `  callbackUri: ${quoted(client.redirect_uri)},`,
    '});',
    '',
    `app.get(${quoted(URL.parse(client.redirect_uri)?.pathname ?? '/callback')}, async (request, reply) => {`,
    '  const { token } = await app.signet.getAccessTokenFromAuthorizationCodeFlow(request, reply);',
    '  return app.signet.userinfo(token.access_token);',
    '});',
    '',
    'export default app;',
  );

export const fastifyOauth2: Library = {
  id: 'fastify-oauth2',
  name: '@fastify/oauth2',
  ecosystem: 'Node.js',
  kinds: ['web'],
  homepage: 'https://github.com/fastify/fastify-oauth2',
  versions: '@fastify/oauth2 8.3.0',
  algorithms: ['EdDSA', 'RS256'],
  authentication: 'client_secret_basic',
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: null,
  callback: null,
  symptoms: [{ without: 'pkce', seen: '500 invalid_request: code_challenge is missing.', setting: "pkce: 'S256'" }],
  snippets: [{ file: 'app.mjs', text: app }],
};
