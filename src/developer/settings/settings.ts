import type { Client } from '../../clients/client.ts';
import { copyButton, copyScripts } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { backLink, developerTab } from '../navigation.ts';

type Library = {
  name: string;
  files: readonly (readonly [id: string, name: string, text: string])[];
  advice?: 'rs256' | 'callback' | 'query' | false;
};

/** The secret belongs in an environment variable: it is shown once, and no page repeats it. */
const secretVariable = 'OIDC_CLIENT_SECRET';

const factsOf = (client: Client, issuer: string) => ({
  issuer,
  client_id: client.client_id,
  isPublic: client.client_type === 'public',
  redirect_uri: client.redirect_uris.find((uri) => !uri.includes('?')) ?? client.redirect_uris[0] ?? '',
  scope: client.allowed_scopes.join(' '),
  isEdDsa: client.id_token_signed_response_alg === 'EdDSA',
});
type Facts = ReturnType<typeof factsOf>;

/** Values are quoted for the language that they stand in. */
function librariesFor(facts: Facts): Library[] {
  const { isPublic, isEdDsa, redirect_uri } = facts;
  return [
    { name: 'dotenv', files: [['env', '.env', environment(facts)]] },
    {
      name: 'openid-client (Node.js)',
      files: [['openid-client', 'sign-in.mjs', openidClient(facts)]],
      // Version 6 redeems with the redirect URI that it was called at, less its whole query.
      advice: redirect_uri.includes('?') && 'query',
    },
    { name: 'Auth.js', files: [['authjs', 'auth.ts', authJs(facts)]], advice: 'callback' },
    {
      name: 'Spring Security',
      files: [
        ['spring', 'application.yml', springSettings(facts)],
        // PKCE is required here, and Spring uses it by default for public clients only.
        ...(isPublic ? [] : [['spring-pkce', 'SecurityConfig.java', springPkce] as const]),
      ],
      advice: isEdDsa && 'rs256',
    },
    ...(isPublic
      ? []
      : [{ name: 'oauth2-proxy', files: [['oauth2-proxy', 'oauth2-proxy.cfg', oauth2Proxy(facts)] as const] }]),
  ];
}

/** A JSON string is valid in JavaScript, YAML and TOML; ours are ASCII without control characters. */
const quoted = (text: string): string => JSON.stringify(text);

/** Single quotes keep every character; text with one inside needs double quotes, where `$` has a meaning. */
const quotedForShell = (text: string): string =>
  text.includes("'") ? `"${text.replaceAll('$', '\\$')}"` : `'${text}'`;

const environment = ({ issuer, client_id, isPublic, redirect_uri, scope }: Facts) =>
  [
    `OIDC_ISSUER=${quotedForShell(issuer)}`,
    `OIDC_CLIENT_ID=${quotedForShell(client_id)}`,
    ...(isPublic ? [] : [`${secretVariable}='paste-the-secret-here'`]),
    `OIDC_REDIRECT_URI=${quotedForShell(redirect_uri)}`,
    `OIDC_SCOPE=${quotedForShell(scope)}`,
    '',
  ].join('\n');

const openidClient = ({ issuer, client_id, isPublic, redirect_uri, scope }: Facts) => {
  const isLocal = issuer.startsWith('http:');
  const authentication = isPublic ? 'client.None()' : `client.ClientSecretBasic(env.${secretVariable})`;
  return `${isPublic ? '' : "import { env } from 'node:process';\n"}import * as client from 'openid-client';

const redirect_uri = ${quoted(redirect_uri)};
const config = await client.discovery(
  new URL(${quoted(issuer)}),
  ${quoted(client_id)},
  {},
  ${authentication},${isLocal ? '\n  { execute: [client.allowInsecureRequests] }, // this issuer is on http' : ''}
);

// Keep what \`checks\` holds in the person's session, and send them to \`url\`.
export async function startSignIn() {
  const checks = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState() };
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: ${quoted(scope)},
    state: checks.expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  return { url, checks };
}

// At the redirect URI, with the query that came: "?code=...&state=...&iss=..."
export async function finishSignIn(query, checks) {
  const answer = new URL(redirect_uri);
  answer.search = query;
  return client.authorizationCodeGrant(config, answer, checks);
}
`;
};

const authJs = ({ issuer, client_id, isPublic, scope }: Facts) => `import NextAuth from "next-auth";

export const { handlers, auth, signIn, signOut } = NextAuth({
  providers: [
    {
      id: 'signet',
      name: 'Signet',
      type: 'oidc',
      issuer: ${quoted(issuer)},
      clientId: ${quoted(client_id)},
      ${isPublic ? "client: { token_endpoint_auth_method: 'none' }," : '// AUTH_SIGNET_SECRET in the environment is the client secret.'}
      authorization: { params: { scope: ${quoted(scope)} } },
      checks: ['pkce', 'state'],
      idToken: false, // name and e-mail come from userinfo
    },
  ],
});
`;

const springSettings = ({ issuer, client_id, isPublic, redirect_uri, scope }: Facts) => `spring:
  security:
    oauth2:
      client:
        registration:
          signet:
            client-id: ${quoted(client_id)}
${isPublic ? '' : `            client-secret: "\${${secretVariable}}"\n`}            client-authentication-method: ${isPublic ? 'none' : 'client_secret_basic'}
            authorization-grant-type: authorization_code
            redirect-uri: ${quoted(redirect_uri)}
            scope: ${quoted(scope.replaceAll(' ', ','))}
        provider:
          signet:
            issuer-uri: ${quoted(issuer)}
`;

const springPkce = `@Bean
SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
  var resolver = new DefaultOAuth2AuthorizationRequestResolver(clients, "/oauth2/authorization");
  resolver.setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce());
  return http
      .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
      .oauth2Login(login -> login.authorizationEndpoint(at -> at.authorizationRequestResolver(resolver)))
      .build();
}
`;

/** The secrets come from OAUTH2_PROXY_CLIENT_SECRET and OAUTH2_PROXY_COOKIE_SECRET. */
const oauth2Proxy = ({ issuer, client_id, redirect_uri, scope }: Facts) => `provider = "oidc"
oidc_issuer_url = ${quoted(issuer)}
client_id = ${quoted(client_id)}
# OAUTH2_PROXY_CLIENT_SECRET and OAUTH2_PROXY_COOKIE_SECRET belong in the environment.
redirect_url = ${quoted(redirect_uri)}
scope = ${quoted(scope)}
code_challenge_method = "S256"
email_domains = ["*"]
`;

export const settingsPage = (view: View, client: Client, issuer: string): Page => ({
  title: view.plain('developer.settings.title'),
  tab: developerTab('developer'),
  scripts: copyScripts,
  content: html`${backLink(view, client)}
<h1>${view.t('developer.settings.title')}</h1>
${settings(view, client, issuer)}`,
});

/** Ready to paste, without the secret. */
export const settings = (view: View, client: Client, issuer: string): Html => html`<p class="soft">${view.t(
  client.client_type === 'public' ? 'developer.settings.intro.public' : 'developer.settings.intro',
)}</p>
${librariesFor(factsOf(client, issuer)).map(
  ({ name, files, advice }, place) => html`<details${place === 0 && html` open`}>
<summary>${name}</summary>
${advice && html`<p class="hint">${view.t(`developer.settings.${advice}`)}</p>`}
${files.map(
  // A text field selects, scrolls and copies by itself, without a script.
  ([id, file, text]) => html`<label for="settings-${id}">${file}</label>
<textarea id="settings-${id}" class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off">
${text}</textarea>
${copyButton(view, `settings-${id}`)}
`,
)}</details>
`,
)}`;
