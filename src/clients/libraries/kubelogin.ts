import { isPublic, type Library, lines, quotedForShell, type SnippetValues } from './library.ts';

const command = (client: SnippetValues) =>
  lines(
    'kubectl config set-credentials signet \\',
    '  --exec-api-version=client.authentication.k8s.io/v1 \\',
    '  --exec-interactive-mode=IfAvailable \\',
    '  --exec-command=kubectl \\',
    '  --exec-arg=oidc-login \\',
    '  --exec-arg=get-token \\',
    `  --exec-arg=${quotedForShell(`--oidc-issuer-url=${client.issuer}`)} \\`,
    `  --exec-arg=${quotedForShell(`--oidc-client-id=${client.client_id}`)} \\`,
    !isPublic(client) && '  --exec-arg="--oidc-client-secret=$OIDC_CLIENT_SECRET" \\',
    ...client.scope
      .split(' ')
      .filter((scope) => scope !== 'openid')
      .map((scope) => `  --exec-arg=--oidc-extra-scope=${scope} \\`),
    `  --exec-arg=${quotedForShell(`--oidc-redirect-url=${client.redirect_uri}`)}`,
  );

export const kubelogin: Library = {
  id: 'kubelogin',
  name: 'kubelogin (kubectl oidc-login)',
  ecosystem: 'Go',
  kinds: ['native'],
  homepage: 'https://github.com/int128/kubelogin',
  versions: 'kubelogin, revision 4ac72f1',
  algorithms: ['RS256'],
  verifier: 'the API server of Kubernetes',
  authentication: null,
  claims_in_id_token: true,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: null,
  callback: 'http://127.0.0.1/',
  symptoms: [
    {
      without: 'port',
      seen: 'redirect_uri is not registered, then: context canceled',
      setting: '--oidc-redirect-url=http://127.0.0.1:8000/',
    },
    {
      without: 'algorithm',
      seen: 'the sign-in succeeds, then: You must be logged in to the server (Unauthorized)',
      setting: null,
    },
    { without: 'claims', seen: 'the API server knows users by sub only', setting: null },
  ],
  snippets: [{ file: 'kubeconfig.sh', text: command }],
};
