import { isPublic, type Library, lines, quoted, type SnippetValues, secretVariable } from './library.ts';

const settings = (client: SnippetValues) =>
  lines(
    'import os',
    '',
    '# Beside what you have: INSTALLED_APPS += ["mozilla_django_oidc"], and in urls.py',
    '# path("oidc/", include("mozilla_django_oidc.urls")). The redirect URI is /oidc/callback/.',
    'AUTHENTICATION_BACKENDS = ["mozilla_django_oidc.auth.OIDCAuthenticationBackend"]',
    `OIDC_RP_CLIENT_ID = ${quoted(client.client_id)}`,
    `OIDC_RP_CLIENT_SECRET = ${isPublic(client) ? '""' : `os.environ[${quoted(secretVariable)}]`}`,
    'OIDC_RP_SIGN_ALGO = "RS256"',
    `OIDC_RP_SCOPES = ${quoted(client.scope)}`,
    'OIDC_USE_PKCE = True',
    `OIDC_OP_AUTHORIZATION_ENDPOINT = ${quoted(`${client.issuer}/oauth/authorize`)}`,
    `OIDC_OP_TOKEN_ENDPOINT = ${quoted(`${client.issuer}/oauth/token`)}`,
    `OIDC_OP_USER_ENDPOINT = ${quoted(`${client.issuer}/oauth/userinfo`)}`,
    `OIDC_OP_JWKS_ENDPOINT = ${quoted(`${client.issuer}/.well-known/jwks.json`)}`,
    'LOGIN_URL = "oidc_authentication_init"',
    '# Needed also where the provider redirects: without it, signing out answers 500.',
    'LOGOUT_REDIRECT_URL = "/"',
    '',
    '# Ends the session at the provider as well: OIDC_OP_LOGOUT_URL_METHOD names a function of yours.',
    'OIDC_STORE_ID_TOKEN = True',
    'OIDC_OP_LOGOUT_URL_METHOD = "oidc_logout.logout_url"',
  );

const logout = (client: SnippetValues) =>
  lines(
    'from urllib.parse import urlencode',
    '',
    '',
    'def logout_url(request):',
    '    parameters = {',
    '        "id_token_hint": request.session.get("oidc_id_token", ""),',
    `        "post_logout_redirect_uri": ${quoted(client.post_logout_redirect_uri)},`,
    '    }',
    `    return ${quoted(`${client.issuer}/oauth/logout?`)} + urlencode(parameters)`,
  );

export const mozillaDjangoOidc: Library = {
  id: 'mozilla-django-oidc',
  name: 'mozilla-django-oidc',
  ecosystem: 'Python',
  kinds: ['web'],
  homepage: 'https://mozilla-django-oidc.readthedocs.io/',
  versions: 'mozilla-django-oidc 5.0.2 with Django 5.2.19',
  algorithms: ['RS256'],
  authentication: 'client_secret_post',
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: 'OIDC_USE_PKCE = True',
  sign_out: 'OIDC_OP_LOGOUT_URL_METHOD',
  callback: '/oidc/callback/',
  symptoms: [
    {
      without: 'pkce',
      seen: 'back at LOGIN_REDIRECT_URL_FAILURE without any error',
      setting: 'OIDC_USE_PKCE = True',
    },
    { without: 'algorithm', seen: '500 InvalidKeyError: Not a public or private key', setting: null },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: 'OIDC_OP_LOGOUT_URL_METHOD' },
    {
      without: 'state',
      seen: 'back at LOGIN_REDIRECT_URL_FAILURE without any error',
      setting: 'SESSION_COOKIE_SAMESITE = "Lax"',
    },
  ],
  snippets: [
    { file: 'settings.py', text: settings },
    { file: 'oidc_logout.py', text: logout },
  ],
};
