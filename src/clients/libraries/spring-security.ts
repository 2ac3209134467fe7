import { isPublic, type Library, lines, quoted, type SnippetValues, secretVariable } from './library.ts';

const application = (client: SnippetValues) =>
  lines(
    'spring:',
    '  security:',
    '    oauth2:',
    '      client:',
    '        registration:',
    '          signet:',
    `            client-id: ${quoted(client.client_id)}`,
    !isPublic(client) && `            client-secret: "\${${secretVariable}}"`,
    `            client-authentication-method: ${isPublic(client) ? 'none' : 'client_secret_basic'}`,
    '            authorization-grant-type: authorization_code',
    `            redirect-uri: ${quoted(client.redirect_uri)}`,
    `            scope: ${quoted(client.scope.replaceAll(' ', ','))}`,
    '        provider:',
    '          signet:',
    `            issuer-uri: ${quoted(client.issuer)}`,
  );

/** Version 6 sends PKCE for public clients only. */
const securityConfig = (sendsPkce: boolean) => (client: SnippetValues) => {
  const needsResolver = !sendsPkce && !isPublic(client);
  return lines(
    'import org.springframework.context.annotation.Bean;',
    'import org.springframework.context.annotation.Configuration;',
    'import org.springframework.security.config.annotation.web.builders.HttpSecurity;',
    'import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;',
    'import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;',
    needsResolver && 'import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizationRequestResolver;',
    needsResolver && 'import org.springframework.security.oauth2.client.web.OAuth2AuthorizationRequestCustomizers;',
    'import org.springframework.security.web.SecurityFilterChain;',
    '',
    '@Configuration',
    'class SecurityConfig {',
    '  @Bean',
    '  SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {',
    needsResolver &&
      '    var resolver = new DefaultOAuth2AuthorizationRequestResolver(clients, "/oauth2/authorization");',
    needsResolver &&
      '    resolver.setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce());',
    '    var signOut = new OidcClientInitiatedLogoutSuccessHandler(clients);',
    `    signOut.setPostLogoutRedirectUri(${quoted(client.post_logout_redirect_uri)});`,
    '    return http',
    '        .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())',
    needsResolver
      ? '        .oauth2Login(login -> login.authorizationEndpoint(at -> at.authorizationRequestResolver(resolver)))'
      : '        .oauth2Login(login -> {})',
    '        .logout(logout -> logout.logoutSuccessHandler(signOut))',
    '        .build();',
    '  }',
    '}',
  );
};

const shared = {
  ecosystem: 'Java',
  kinds: ['web'],
  homepage: 'https://docs.spring.io/spring-security/reference/servlet/oauth2/login/',
  algorithms: ['RS256'],
  authentication: 'client_secret_basic',
  claims_in_id_token: false,
  refreshes_in_parallel: true,
  sign_out: 'OidcClientInitiatedLogoutSuccessHandler',
  callback: '/login/oauth2/code/signet',
} as const satisfies Partial<Library>;

const symptoms = [
  {
    without: 'algorithm',
    seen: '/login?error Invalid credentials; at DEBUG: [invalid_id_token] Signed JWT rejected: Another algorithm expected, or no matching key(s) found',
    setting: null,
  },
  {
    without: 'retry_window',
    seen: 'OAuth2AuthorizationException [invalid_grant], and the user is signed out',
    setting: null,
  },
  {
    without: 'sign_out',
    seen: 'whoever signs out is signed in again at once',
    setting: 'OidcClientInitiatedLogoutSuccessHandler',
  },
  {
    without: 'state',
    seen: '/login?error Invalid credentials; at DEBUG: [authorization_request_not_found]',
    setting: 'server.servlet.session.cookie.same-site: lax',
  },
] as const;

export const springSecurity6: Library = {
  ...shared,
  id: 'spring-security-6',
  name: 'Spring Security 6 (client)',
  versions: 'Spring Boot 3.5.16, Spring Security 6.5.11',
  pkce: 'setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce())',
  symptoms: [
    {
      without: 'pkce',
      seen: '/login?error Invalid credentials',
      setting: 'setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce())',
    },
    ...symptoms,
  ],
  snippets: [
    { file: 'application.yml', text: application },
    { file: 'SecurityConfig.java', text: securityConfig(false) },
  ],
};

export const springSecurity7: Library = {
  ...shared,
  id: 'spring-security-7',
  name: 'Spring Security 7 (client)',
  versions: 'Spring Boot 4.1.1, Spring Security 7.1.1',
  pkce: null,
  symptoms,
  snippets: [
    { file: 'application.yml', text: application },
    { file: 'SecurityConfig.java', text: securityConfig(true) },
  ],
};
