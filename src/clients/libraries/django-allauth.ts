import { isPublic, type Library, lines, quoted, type SnippetValues, secretVariable } from './library.ts';

const settings = (client: SnippetValues) =>
  lines(
    'import os',
    '',
    '# Beside INSTALLED_APPS += ["allauth.socialaccount.providers.openid_connect"].',
    '# The redirect URI is /accounts/oidc/signet/login/callback/.',
    'SOCIALACCOUNT_PROVIDERS = {',
    '    "openid_connect": {',
    '        "OAUTH_PKCE_ENABLED": True,',
    '        "APPS": [',
    '            {',
    '                "provider_id": "signet",',
    '                "name": "Signet",',
    `                "client_id": ${quoted(client.client_id)},`,
    isPublic(client)
      ? '                "secret": "",'
      : `                "secret": os.environ[${quoted(secretVariable)}],`,
    '                "settings": {',
    `                    "server_url": ${quoted(client.issuer)},`,
    isPublic(client) && '                    "token_auth_method": "none",',
    `                    "scope": ${JSON.stringify(client.scope.split(' '))},`,
    '                },',
    '            }',
    '        ],',
    '    }',
    '}',
  );

export const djangoAllauth: Library = {
  id: 'django-allauth',
  name: 'django-allauth',
  ecosystem: 'Python',
  kinds: ['web'],
  homepage: 'https://docs.allauth.org/',
  versions: 'django-allauth 65.21.1 with Django 5.2.19',
  algorithms: ['EdDSA', 'RS256'],
  authentication: 'client_secret_post',
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: '"OAUTH_PKCE_ENABLED": True',
  sign_out: null,
  callback: '/accounts/oidc/signet/login/callback/',
  symptoms: [
    {
      without: 'pkce',
      seen: '401 Third-Party Login Failure: An error occurred while attempting to login via your third-party account.',
      setting: '"OAUTH_PKCE_ENABLED": True',
    },
  ],
  snippets: [{ file: 'settings.py', text: settings }],
};
