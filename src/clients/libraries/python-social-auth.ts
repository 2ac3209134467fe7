import { isPublic, type Library, lines, quoted, type SnippetValues, secretVariable } from './library.ts';

const settings = (client: SnippetValues) =>
  lines(
    'import os',
    '',
    '# Beside INSTALLED_APPS += ["social_django"]. The redirect URI is /complete/oidc/.',
    'AUTHENTICATION_BACKENDS = ["social_core.backends.open_id_connect.OpenIdConnectAuth"]',
    `SOCIAL_AUTH_OIDC_OIDC_ENDPOINT = ${quoted(client.issuer)}`,
    `SOCIAL_AUTH_OIDC_KEY = ${quoted(client.client_id)}`,
    `SOCIAL_AUTH_OIDC_SECRET = ${isPublic(client) ? '""' : `os.environ[${quoted(secretVariable)}]`}`,
    `SOCIAL_AUTH_OIDC_SCOPE = ${JSON.stringify(client.scope.split(' '))}`,
    'SOCIAL_AUTH_OIDC_USE_PKCE = True',
    'SOCIAL_AUTH_OIDC_JWT_ALGORITHMS = ["RS256"]',
  );

export const pythonSocialAuth: Library = {
  id: 'python-social-auth',
  name: 'Python Social Auth',
  ecosystem: 'Python',
  kinds: ['web'],
  homepage: 'https://python-social-auth.readthedocs.io/',
  versions: 'social-auth-core 7.0.0, social-auth-app-django 8.0.0 with Django 5.2.19',
  algorithms: ['RS256'],
  // HTTP Basic for the code, the body for a refresh.
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: 'SOCIAL_AUTH_OIDC_USE_PKCE = True',
  sign_out: null,
  callback: '/complete/oidc/',
  symptoms: [
    {
      without: 'pkce',
      seen: '500 AuthConfigurationError: Authentication configuration is invalid.',
      setting: 'SOCIAL_AUTH_OIDC_USE_PKCE = True',
    },
    {
      without: 'algorithm',
      seen: '500 AuthResponseError: The authentication response signature could not be verified.',
      setting: null,
    },
    {
      without: 'state',
      seen: '500 AuthStateMissing: Session value state missing.',
      setting: 'SESSION_COOKIE_SAMESITE = "Lax"',
    },
  ],
  snippets: [{ file: 'settings.py', text: settings }],
};
