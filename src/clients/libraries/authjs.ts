import { isPublic, type Library, lines, quoted, type SnippetValues } from './library.ts';

const config = (client: SnippetValues) =>
  lines(
    'export default {',
    '  providers: [',
    '    {',
    "      id: 'signet',",
    "      name: 'Signet',",
    "      type: 'oidc',",
    `      issuer: ${quoted(client.issuer)},`,
    `      clientId: ${quoted(client.client_id)},`,
    isPublic(client)
      ? "      client: { token_endpoint_auth_method: 'none' },"
      : '      // AUTH_SIGNET_SECRET in the environment is the client secret.',
    `      authorization: { params: { scope: ${quoted(client.scope)} } },`,
    "      checks: ['pkce', 'state'],",
    '      idToken: false, // name and email address come from userinfo',
    '    },',
    '  ],',
    '};',
  );

const auth = () => `import NextAuth from 'next-auth'; // version 5; without Next.js: Auth(request, config) of @auth/core
import config from './auth.config.mjs';

export const { handlers, auth, signIn, signOut } = NextAuth(config);
`;

export const authjs: Library = {
  id: 'authjs',
  name: 'Auth.js (@auth/core, next-auth 5)',
  ecosystem: 'Node.js',
  kinds: ['web'],
  homepage: 'https://authjs.dev/',
  versions: '@auth/core 0.41.3, @auth/express 0.12.3',
  algorithms: ['EdDSA', 'RS256'],
  authentication: 'client_secret_basic',
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: "checks: ['pkce', 'state']",
  sign_out: null,
  callback: '/api/auth/callback/signet',
  symptoms: [
    {
      without: 'pkce',
      seen: 'OAuthCallbackError: OAuth Provider returned an error',
      setting: "checks: ['pkce', 'state']",
    },
    { without: 'claims', seen: 'session.user is empty', setting: 'idToken: false' },
    { without: 'state', seen: 'InvalidCheck: state value could not be parsed', setting: 'AUTH_URL' },
  ],
  snippets: [
    { file: 'auth.config.mjs', text: config },
    { file: 'auth.ts', text: auth },
  ],
};
