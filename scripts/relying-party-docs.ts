/**
 * Makes docs/relying-parties from the catalogue of libraries:
 *
 *   npm run docs:relying-parties
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraries, librariesFor, snippetOf } from '../src/clients/libraries/catalogue.ts';
import {
  applicationTypeOf,
  isOnDevice,
  isPublic,
  type Kind,
  kinds,
  type Library,
  type SnippetValues,
  type Symptom,
} from '../src/clients/libraries/library.ts';

export const folder = join(import.meta.dirname, '../docs/relying-parties');

const kindNames: Readonly<Record<Kind, string>> = {
  web: 'Web app with a server',
  spa: 'Single-page app',
  native: 'Mobile, desktop or command-line app',
  mcp: 'Client of the Model Context Protocol',
  service: 'API',
};

const missing: Readonly<Record<Symptom['without'], string>> = {
  pkce: 'PKCE',
  response_type: 'response type `code`',
  state: 'the state that was kept at the start',
  algorithm: 'the signing algorithm',
  claims: 'claims in the ID token',
  retry_window: 'a refresh retry window',
  sign_out: 'sign-out at Signet',
  token_type: 'the token type `at+jwt`',
  port: 'a port that matches',
};

/** What mends it, where it is the client that has to be edited. */
const clientSettings: Partial<Record<Symptom['without'], string>> = {
  algorithm: '`id_token_signed_response_alg` of the client',
  claims: '`claims_in_id_token` of the client',
  sign_out: '`post_logout_redirect_uris` of the client, with the redirect URI among them',
  retry_window: '`refresh_retry_window` of the client: 10, set by an administrator',
};

const languages: Readonly<Record<string, string>> = {
  mjs: 'js',
  ts: 'ts',
  js: 'js',
  jsx: 'jsx',
  py: 'python',
  java: 'java',
  yml: 'yaml',
  go: 'go',
  rs: 'rust',
  cfg: 'toml',
  toml: 'toml',
  conf: 'apache',
  json: 'json',
  sh: 'sh',
  env: 'sh',
};

/** Written by hand. */
export const otherPages = [
  'applications.md',
  'client-keys.md',
  'differences.md',
  'dpop.md',
  'what-cannot-be-connected.md',
];

/** A client as it would be registered for the library. */
function exampleOf(library: Library): SnippetValues {
  const {
    callback,
    algorithms: [algorithm],
  } = library;
  const site = library.kinds[0] === 'spa' ? 'https://app.example.com' : 'https://shop.example.com';
  return {
    issuer: 'https://id.example.com',
    client_id: 'cl_…',
    client_type: isOnDevice(library.kinds[0]) ? 'public' : 'confidential',
    redirect_uri: callback === null || callback.startsWith('/') ? `${site}${callback ?? '/callback'}` : callback,
    post_logout_redirect_uri: callback === null || callback.startsWith('/') ? `${site}/` : callback,
    scope: library.refreshes_in_parallel ? 'openid profile email offline_access' : 'openid profile email',
    algorithm,
  };
}

/** Text in a cell of a table. */
const cell = (text: string) => text.replaceAll('|', '\\|');

function claimsAdvice(needed: Library['claims_in_id_token']): string {
  if (needed === null) return '`true`, unless it asks userinfo: much software reads the ID token alone';
  return needed ? '`true`, since it does not ask userinfo' : '`false`';
}

function algorithmAdvice({ id, verifier = 'it', algorithms: [first, second] }: Library): string {
  if (id === 'other') return '`RS256`; `EdDSA` is shorter and faster, where the library is known to verify it';
  if (second === undefined) return `\`${first}\`: ${verifier} verifies no other`;
  return `\`${first}\`; \`${second}\` works too${first === 'RS256' ? ', with the setting below' : ''}`;
}

function needsOf(library: Library): string[] {
  const example = exampleOf(library);
  const both = library.algorithms.length > 1;
  if (library.kinds[0] === 'service') {
    return [
      `- \`id_token_signed_response_alg\` of the client that calls the API: \`${example.algorithm}\`${both ? ' or `RS256`' : ''}; access tokens follow it.`,
      '- An API that only checks tokens needs no client of its own; see [resource servers](../resource-servers/README.md).',
    ];
  }
  const {
    backchannel_logout,
    callback,
    claims_in_id_token,
    refreshes_in_parallel,
    pkce,
    sign_out,
    signs_out_to_callback,
  } = library;
  const method = isPublic(example) ? 'none' : library.authentication;
  return [
    `- \`client_type\`: \`${example.client_type}\``,
    `- \`application_type\`: \`${applicationTypeOf(library.kinds[0])}\``,
    `- \`id_token_signed_response_alg\`: ${algorithmAdvice(library)}`,
    `- \`token_endpoint_auth_method\`: ${method === null ? 'any' : `\`${method}\``}${library.signs ? ', also `private_key_jwt` with [a key of its own](client-keys.md)' : ''}`,
    `- \`claims_in_id_token\`: ${claimsAdvice(claims_in_id_token)}`,
    ...(callback === null
      ? []
      : [`- A redirect URI ${callback.startsWith('/') ? 'that ends in' : 'such as'} \`${callback}\``]),
    ...(refreshes_in_parallel
      ? [
          '- `refresh_retry_window`: 10, which the reviewer is proposed. Requests that arrive together each present the same refresh token, and without the window the second one is taken for a replay, which revokes the sign-in.',
        ]
      : []),
    `- PKCE: ${pkce === null ? 'on by default' : `\`${pkce}\``}`,
    `- Sign-out at Signet as well: ${sign_out === null ? 'not by the library; redirect to `end_session_endpoint`' : `\`${sign_out}\`, with ${signs_out_to_callback ? 'the redirect URI in' : 'a registered'} \`post_logout_redirect_uris\``}`,
    ...(backchannel_logout
      ? [
          `- [Logout tokens](README.md#logout-tokens): \`${backchannel_logout.setting}\`, with a \`backchannel_logout_uri\` that ends in \`${backchannel_logout.path}\``,
        ]
      : []),
  ];
}

export function documentOf(library: Library): string {
  const { id, name, homepage, versions, symptoms } = library;
  const files = snippetOf(id, exampleOf(library)).map(
    ({ file, text }) => `\`${file}\`\n\n\`\`\`${languages[file.split('.').at(-1) ?? ''] ?? ''}\n${text}\`\`\`\n`,
  );
  const rows = symptoms.map(
    ({ without, seen, setting }) =>
      `| ${missing[without]} | ${cell(seen)} | ${setting === null ? (clientSettings[without] ?? '') : `\`${cell(setting)}\``} |`,
  );
  return `${[
    `# ${name}`,
    `<${homepage}>${versions === '' ? '' : ` · tried: ${versions}`}`,
    '## Registration',
    needsOf(library).join('\n'),
    '## Settings',
    ...files.map((file) => file.trimEnd()),
    ...(rows.length === 0
      ? []
      : [
          '## What you see when something is missing',
          ['| missing | what you see | setting |', '| --- | --- | --- |', ...rows].join('\n'),
        ]),
  ].join('\n\n')}\n`;
}

export const indexDocument = (): string => `# Relying parties

One page for each library that was tried with Signet: how to register a client for it, its settings, and what one sees when
one of them is missing. The console has the same with the values of your client, under _Set up your app_. For whole
applications, see [Applications](applications.md); for software without PKCE, machines and command lines,
[What cannot be connected, and through what](what-cannot-be-connected.md); for a key instead of a secret, [Keys of
clients](client-keys.md); for tokens that are of no use without a key, [DPoP](dpop.md); for what is unlike other providers,
[Coming from another provider](differences.md).

Issuer, authorization endpoint and so on are in the discovery document, \`{issuer}/.well-known/openid-configuration\`. For
every library: PKCE with S256 is required, redirect URIs are compared character by character, and a refresh token works
once. Scopes that do not exist here, or that the client is not allowed, are left out; \`scope\` in the token response says what
was granted, and the console what was not.

${kinds
  .map(
    (kind) =>
      `## ${kindNames[kind]}\n\n${librariesFor(kind)
        .map(({ id, name }) => `- [${name}](${id}.md)`)
        .join('\n')}`,
  )
  .join('\n\n')}

## Back without a sign-in

Your redirect URI receives \`error\` and \`error_description\` instead of a code, with the same \`state\` and \`iss\`, where
\`response_mode\` has the code. Show a page of your own from which one can sign in again; to start again by itself would
lead whoever has just left straight back. What users decide is no failure, so the console does not list it.

| \`error\` | what has happened |
| --- | --- |
| \`access_denied\` | The user has chosen _Cancel and return to …_ on a page of the sign-in, did not allow what the consent page asked for, or has no second factor where Signet requires one and did not set one up. |
| \`login_required\`, \`consent_required\` | \`prompt=none\` allowed no page, and one was needed; or another user than that of \`id_token_hint\` has signed in. |
| \`unmet_authentication_requirements\` | The user did not reach the class of authentication that the request or the client requires. |
| any other | The request is wrong; its description says how, and so does the console. |

## A second factor

A client asks for a second factor at every sign-in by \`default_acr_values\`, in the form under _Second factor_. It needs no
setting of the library, and takes effect once it is approved:

| \`default_acr_values\` | what users see |
| --- | --- |
| \`["urn:signet:acr:2fa"]\` | Required, whatever a request asks for. A user who has none sets one up during the sign-in. One who declines comes back with \`unmet_authentication_requirements\`; \`prompt=none\` is answered with \`login_required\`. |
| \`["urn:signet:acr:2fa", "urn:signet:acr:1fa"]\` | Preferred. A user who has a passkey is asked for it and may continue without it. \`acr_values\` or \`claims\` of a request override it. |
| \`[]\` | Neither. |

Alone or beside it, a request may send \`acr_values=urn:signet:acr:2fa\`, as a preference, or make \`acr\` essential in
\`claims\`. A user with an authenticator app always enters its code. \`acr\` in the ID token says what was reached; of a refreshed
one, at the sign-in that it goes back to.

## Logout tokens

A session of your app does not end by itself when its user signs out elsewhere, or is disabled. A client with a
\`backchannel_logout_uri\` receives a POST for each session that ends, with \`logout_token\` in a form
(OpenID Connect Back-Channel Logout 1.0). It is a JWT with the header \`"typ": "logout+jwt"\` and these claims:

\`\`\`json
{
  "iss": "https://id.example.com",
  "aud": "cl_…",
  "sub": "usr_…",
  "sid": "ses_…",
  "iat": 1800000000,
  "exp": 1800000120,
  "jti": "lo_…",
  "events": { "http://schemas.openid.net/event/backchannel-logout": {} }
}
\`\`\`

Verify it like an ID token: the signature, with the key set and the algorithm of the client, \`iss\`, \`aud\`, \`exp\`. Then
check \`typ\` and \`events\`, end the session whose ID token had this \`sid\`, and answer 200 or 204. 400 refuses the token for
good; any other answer is retried for three days, with the same \`jti\`. Your sessions must be on your server: a session
that is only in a cookie cannot be ended.

Tried with ${libraries
  .filter((library) => library.backchannel_logout)
  .map(({ id, name }) => `[${name}](${id}.md)`)
  .join(', ')}.
The deliveries and their failures are under _Sign-ins and failures_ in the console. On your own machine the operator
lists \`127.0.0.1,::1\` in \`SIGNET_WEBHOOK_INTERNAL\`, and the URI may be \`http://localhost\`.
`;

/** Every page by the name of its file. */
export const pages = (): ReadonlyMap<string, string> =>
  new Map([
    ['README.md', indexDocument()],
    ...libraries.map((library) => [`${library.id}.md`, documentOf(library)] as const),
  ]);

if (import.meta.main) {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!otherPages.includes(name)) rmSync(join(folder, name));
  for (const [name, text] of pages()) writeFileSync(join(folder, name), text);
}
