import { isPublic, type Library, pathOf, quoted, type SnippetValues, secretVariable } from './library.ts';

const app = (client: SnippetValues) => `import express from 'express';
import openid from 'express-openid-connect';

const { auth, requiresAuth } = openid; // it is a CommonJS module

const app = express();
app.use(
  auth({
    issuerBaseURL: ${quoted(client.issuer)},
    baseURL: ${quoted(URL.parse(client.redirect_uri)?.origin ?? 'http://localhost:3000')},
    clientID: ${quoted(client.client_id)},
    ${isPublic(client) ? "clientAuthMethod: 'none'," : `clientSecret: process.env.${secretVariable},\n    clientAuthMethod: 'client_secret_basic',`}
    secret: process.env.SESSION_SECRET, // 32 random characters or more, for its own cookie
    idTokenSigningAlg: ${quoted(client.algorithm)},
    authorizationParams: { response_type: 'code', scope: ${quoted(client.scope)} },
    routes: { callback: ${quoted(pathOf(client.redirect_uri))}, postLogoutRedirect: ${quoted(client.post_logout_redirect_uri)} },
    idpLogout: true,
    authRequired: false,
  }),
);

app.get('/profile', requiresAuth(), (req, res) => res.json(req.oidc.user));

export default app;
`;

export const expressOpenidConnect: Library = {
  id: 'express-openid-connect',
  name: 'express-openid-connect',
  ecosystem: 'Node.js',
  kinds: ['web'],
  homepage: 'https://github.com/auth0/express-openid-connect',
  versions: 'express-openid-connect 3.4.0',
  algorithms: ['RS256', 'EdDSA'],
  authentication: 'client_secret_basic',
  claims_in_id_token: true,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: 'idpLogout: true',
  backchannel_logout: { setting: 'backchannelLogout: { store }', path: '/backchannel-logout' },
  callback: '/callback',
  symptoms: [
    {
      without: 'response_type',
      seen: '400 authorization response from the server is an error',
      setting: "authorizationParams: { response_type: 'code' }",
    },
    { without: 'algorithm', seen: '400 invalid response encountered', setting: "idTokenSigningAlg: 'EdDSA'" },
    { without: 'claims', seen: 'req.oidc.user has no name and no email', setting: null },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: 'idpLogout: true' },
    { without: 'state', seen: '400 "auth_verification" cookie not found.', setting: 'baseURL' },
  ],
  snippets: [{ file: 'app.mjs', text: app }],
};
