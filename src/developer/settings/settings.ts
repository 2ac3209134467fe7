import type { Client } from '../../clients/client.ts';
import { copyButton, copyScripts } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { backLink, developerTab } from '../navigation.ts';

/** Something to paste: a file, and what stands in it. */
type Snippet = { id: string; file: string; text: string };
type Library = {
  id: string;
  name: string;
  snippets: readonly Snippet[];
  advice?: 'rs256' | 'callback' | 'query';
};

type Facts = {
  issuer: string;
  client_id: string;
  isPublic: boolean;
  redirect_uri: string;
  scope: string;
  isEdDsa: boolean;
};

/** Where the secret belongs, in an environment variable: it is shown once, and no page repeats it. */
const secretVariable = 'OIDC_CLIENT_SECRET';

/** Settings of one client for what people commonly use. Values are quoted for the language that they stand in. */
function settingsFor(client: Client, issuer: string): Library[] {
  const facts = {
    issuer,
    client_id: client.client_id,
    isPublic: client.client_type === 'public',
    redirect_uri: client.redirect_uris.find((uri) => !uri.includes('?')) ?? client.redirect_uris[0] ?? '',
    scope: client.allowed_scopes.join(' '),
    isEdDsa: client.id_token_signed_response_alg === 'EdDSA',
  };
  return [
    { id: 'env', name: 'dotenv', snippets: [{ id: 'env', file: '.env', text: environment(facts) }] },
    {
      id: 'openid-client',
      name: 'openid-client (Node.js)',
      snippets: [{ id: 'openid-client', file: 'sign-in.mjs', text: openidClient(facts) }],
      // Version 6 redeems with the redirect URI that it was called at, less its whole query.
      ...(facts.redirect_uri.includes('?') ? { advice: 'query' as const } : {}),
    },
    {
      id: 'authjs',
      name: 'Auth.js',
      snippets: [{ id: 'authjs', file: 'auth.ts', text: authJs(facts) }],
      advice: 'callback',
    },
    {
      id: 'spring',
      name: 'Spring Security',
      snippets: [
        { id: 'spring', file: 'application.yml', text: springSettings(facts) },
        // Every client proves possession of its code here, and Spring does that by itself for public ones alone.
        ...(facts.isPublic ? [] : [{ id: 'spring-pkce', file: 'SecurityConfig.java', text: springPkce }]),
      ],
      ...(facts.isEdDsa ? { advice: 'rs256' as const } : {}),
    },
    ...(facts.isPublic
      ? []
      : [
          {
            id: 'oauth2-proxy',
            name: 'oauth2-proxy',
            snippets: [{ id: 'oauth2-proxy', file: 'oauth2-proxy.cfg', text: oauth2Proxy(facts) }],
          },
        ]),
  ];
}

/** JSON's string is one of JavaScript, YAML and TOML as well; ours are ASCII without control characters. */
const quoted = (text: string): string => JSON.stringify(text);

/** Single quotes keep every character as it is; whoever has one inside needs double ones, where `$` means something. */
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

/** Ready to paste. The secret is in none of them, so they may be shown again. */
export const settings = (view: View, client: Client, issuer: string): Html => html`<p class="soft">${view.t(
  client.client_type === 'public' ? 'developer.settings.intro.public' : 'developer.settings.intro',
)}</p>
${settingsFor(client, issuer).map((library) => libraryDetails(view, library))}`;

const libraryDetails = (
  view: View,
  { id, name, snippets, advice }: Library,
): Html => html`<details${id === 'env' && html` open`}>
<summary>${name}</summary>
${advice && html`<p class="hint">${view.t(`developer.settings.${advice}`)}</p>`}
${snippets.map((snippet) => snippetField(view, snippet))}</details>
`;

/** A text field selects, scrolls and copies by itself, without a script. */
const snippetField = (view: View, { id, file, text }: Snippet): Html => html`<label for="settings-${id}">${file}</label>
<textarea id="settings-${id}" class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off">
${text}</textarea>
${copyButton(view, `settings-${id}`)}
`;
