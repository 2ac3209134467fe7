import { type Library, quoted, type SnippetValues } from './library.ts';

const users = (client: SnippetValues) => `import { UserManager, WebStorageStateStore } from 'oidc-client-ts';

const users = new UserManager({
  authority: ${quoted(client.issuer)},
  client_id: ${quoted(client.client_id)},
  redirect_uri: ${quoted(client.redirect_uri)},
  post_logout_redirect_uri: ${quoted(client.post_logout_redirect_uri)},
  scope: ${quoted(client.scope)},
  loadUserInfo: true, // name and email address
  userStore: new WebStorageStateStore({ store: window.sessionStorage }),
});

export const startSignIn = () => users.signinRedirect();

// On the page of the redirect URI.
export const finishSignIn = () => users.signinRedirectCallback();

// On the button "Sign out".
export const signOut = () => users.signoutRedirect();

export default users;
`;

export const oidcClientTs: Library = {
  id: 'oidc-client-ts',
  name: 'oidc-client-ts',
  ecosystem: 'Browser',
  kinds: ['spa'],
  homepage: 'https://github.com/authts/oidc-client-ts',
  versions: 'oidc-client-ts 3.5.0',
  algorithms: ['EdDSA', 'RS256'],
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: 'signoutRedirect()',
  callback: null,
  symptoms: [
    { without: 'claims', seen: 'user.profile has no name and no email', setting: 'loadUserInfo: true' },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: 'signoutRedirect()' },
    {
      without: 'state',
      seen: 'Error: No matching state found in storage',
      setting: 'redirect_uri on the origin where signinRedirect() is called',
    },
  ],
  snippets: [{ file: 'users.js', text: users }],
};
