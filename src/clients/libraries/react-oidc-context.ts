import { type Library, quoted, type SnippetValues } from './library.ts';

const app = (client: SnippetValues) => `import { AuthProvider, useAuth } from 'react-oidc-context';

const settings = {
  authority: ${quoted(client.issuer)},
  client_id: ${quoted(client.client_id)},
  redirect_uri: ${quoted(client.redirect_uri)},
  post_logout_redirect_uri: ${quoted(client.post_logout_redirect_uri)},
  scope: ${quoted(client.scope)},
  loadUserInfo: true, // name and email address
  // Removes code and state from the address once they have been used.
  onSigninCallback: () => window.history.replaceState({}, '', window.location.pathname),
};

function Account() {
  const auth = useAuth();
  if (auth.isLoading) return <p>Loading</p>;
  if (auth.error) return <p role="alert">{auth.error.message}</p>;
  if (!auth.isAuthenticated) return <button onClick={() => auth.signinRedirect()}>Sign in</button>;
  return (
    <p>
      {auth.user.profile.name} <button onClick={() => auth.signoutRedirect()}>Sign out</button>
    </p>
  );
}

export default function App() {
  return (
    <AuthProvider {...settings}>
      <Account />
    </AuthProvider>
  );
}
`;

export const reactOidcContext: Library = {
  id: 'react-oidc-context',
  name: 'react-oidc-context',
  ecosystem: 'Browser',
  kinds: ['spa'],
  homepage: 'https://github.com/authts/react-oidc-context',
  versions: 'react-oidc-context 3.3.1',
  algorithms: ['EdDSA', 'RS256'],
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: 'auth.signoutRedirect()',
  callback: null,
  symptoms: [
    { without: 'claims', seen: 'auth.user.profile has no name and no email', setting: 'loadUserInfo: true' },
    {
      without: 'sign_out',
      seen: 'auth.removeUser() alone: the next sign-in needs no password',
      setting: 'auth.signoutRedirect()',
    },
    {
      without: 'state',
      seen: 'auth.error: No matching state found in storage',
      setting: 'redirect_uri on the origin where signinRedirect() is called',
    },
  ],
  snippets: [{ file: 'App.jsx', text: app }],
};
