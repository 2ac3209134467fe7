import { isPublic, type Library, lines, quoted, type SnippetValues } from './library.ts';

const config = (client: SnippetValues) =>
  lines(
    'provider = "oidc"',
    `oidc_issuer_url = ${quoted(client.issuer)}`,
    `client_id = ${quoted(client.client_id)}`,
    isPublic(client)
      ? 'client_secret_file = "/dev/null" # a public client has none'
      : '# OAUTH2_PROXY_CLIENT_SECRET and OAUTH2_PROXY_COOKIE_SECRET belong in the environment.',
    `redirect_url = ${quoted(client.redirect_uri)}`,
    `scope = ${quoted(client.scope)}`,
    'code_challenge_method = "S256"',
    'email_domains = ["*"]',
    `whitelist_domains = [${quoted(URL.parse(client.issuer)?.host ?? '')}]`,
    '# Signs out here and at the provider: a link to /oauth2/sign_out?rd= and the URL below, percent-encoded.',
    `# ${client.issuer}/oauth/logout?client_id=${client.client_id}&post_logout_redirect_uri=${encodeURIComponent(client.post_logout_redirect_uri)}`,
  );

export const oauth2Proxy: Library = {
  id: 'oauth2-proxy',
  name: 'oauth2-proxy',
  ecosystem: 'Proxy',
  kinds: ['web'],
  homepage: 'https://oauth2-proxy.github.io/oauth2-proxy/',
  versions: 'oauth2-proxy 7, revision 14af2951',
  algorithms: ['EdDSA', 'RS256'],
  authentication: 'client_secret_basic',
  claims_in_id_token: true,
  refreshes_in_parallel: true,
  pkce: 'code_challenge_method = "S256"',
  sign_out: '/oauth2/sign_out?rd=',
  callback: '/oauth2/callback',
  symptoms: [
    {
      without: 'pkce',
      seen: '403 Login Failed: The upstream identity provider returned an error: invalid_request',
      setting: 'code_challenge_method = "S256"',
    },
    {
      without: 'retry_window',
      seen: 'users are signed out after cookie_refresh; log: invalid_grant',
      setting: null,
    },
    { without: 'claims', seen: 'X-Forwarded-Email of a bearer token is the sub', setting: null },
    { without: 'sign_out', seen: 'the next sign-in needs no password', setting: '/oauth2/sign_out?rd=' },
    {
      without: 'state',
      seen: '403 Login Failed: Unable to find a valid CSRF token. Please try again.',
      setting: 'redirect_url, and on http://localhost cookie_secure = false',
    },
  ],
  snippets: [{ file: 'oauth2-proxy.cfg', text: config }],
};
