import { isPublic, type Library, lines, quoted, type SnippetValues, secretVariable } from './library.ts';

const main = (client: SnippetValues) =>
  lines(
    '// Cargo.toml: openidconnect = { version = "4", features = ["reqwest-blocking"] }',
    'use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreProviderMetadata, CoreUserInfoClaims};',
    'use openidconnect::{reqwest, AuthorizationCode, ClientId, CsrfToken, IssuerUrl, Nonce};',
    `use openidconnect::{${isPublic(client) ? '' : 'ClientSecret, '}OAuth2TokenResponse, PkceCodeChallenge, RedirectUrl, Scope, TokenResponse};`,
    '',
    'fn main() -> Result<(), Box<dyn std::error::Error>> {',
    '    let http = reqwest::blocking::ClientBuilder::new()',
    '        .redirect(reqwest::redirect::Policy::none())',
    '        .build()?;',
    `    let issuer = IssuerUrl::new(${quoted(client.issuer)}.to_string())?;`,
    '    let metadata = CoreProviderMetadata::discover(&issuer, &http)?;',
    `    let id = ClientId::new(${quoted(client.client_id)}.to_string());`,
    isPublic(client)
      ? '    let secret = None;'
      : `    let secret = Some(ClientSecret::new(std::env::var(${quoted(secretVariable)})?));`,
    '    let client = CoreClient::from_provider_metadata(metadata, id, secret)',
    `        .set_redirect_uri(RedirectUrl::new(${quoted(client.redirect_uri)}.to_string())?);`,
    '',
    '    // Keep state, nonce and verifier in the session of the user.',
    '    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();',
    '    let (url, state, nonce) = client',
    '        .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)',
    ...client.scope
      .split(' ')
      .filter((scope) => scope !== 'openid')
      .map((scope) => `        .add_scope(Scope::new(${quoted(scope)}.to_string()))`),
    '        .set_pkce_challenge(challenge)',
    '        .url();',
    '    println!("{url}");',
    '',
    '    // At the redirect URI; here, the query that came is typed in.',
    '    let mut query = String::new();',
    '    std::io::stdin().read_line(&mut query)?;',
    `    let answer = reqwest::Url::parse(&format!("{}?{}", ${quoted(client.redirect_uri)}, query.trim()))?;`,
    '    let get = |name: &str| answer.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());',
    '    assert_eq!(get("state").as_ref(), Some(state.secret()));',
    '    let code = AuthorizationCode::new(get("code").ok_or("no code")?);',
    '    let tokens = client.exchange_code(code)?.set_pkce_verifier(verifier).request(&http)?;',
    '    let id_token = tokens.id_token().ok_or("no id token")?;',
    '    let claims = id_token.claims(&client.id_token_verifier(), &nonce)?;',
    '    let user: CoreUserInfoClaims = client',
    '        .user_info(tokens.access_token().clone(), Some(claims.subject().clone()))?',
    '        .request(&http)?;',
    '    println!("{} {}", **user.subject(), user.email().map(|email| email.as_str()).unwrap_or(""));',
    '    Ok(())',
    '}',
  );

export const rustOpenidconnect: Library = {
  id: 'rust-openidconnect',
  name: 'openidconnect (Rust)',
  ecosystem: 'Rust',
  kinds: ['web', 'native'],
  homepage: 'https://github.com/ramosbugs/openidconnect-rs',
  versions: 'openidconnect 4.1.0',
  algorithms: ['EdDSA', 'RS256'],
  authentication: 'client_secret_basic',
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: '.set_pkce_challenge(challenge), .set_pkce_verifier(verifier)',
  sign_out: 'LogoutRequest with ProviderMetadataWithLogout',
  callback: null,
  symptoms: [
    {
      without: 'pkce',
      seen: 'error=invalid_request in the query of the callback',
      setting: '.set_pkce_challenge(challenge), .set_pkce_verifier(verifier)',
    },
    {
      without: 'sign_out',
      seen: 'the next sign-in needs no password',
      setting: 'LogoutRequest with ProviderMetadataWithLogout',
    },
  ],
  snippets: [{ file: 'src/main.rs', text: main }],
};
