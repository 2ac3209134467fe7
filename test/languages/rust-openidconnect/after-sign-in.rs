    println!("{}", tokens.access_token().secret());
    let refresh_token = tokens.refresh_token().ok_or("no refresh token")?;
    let refreshed = client.exchange_refresh_token(refresh_token)?.request(&http)?;
    println!("{}", refreshed.access_token().secret());
    let metadata = openidconnect::ProviderMetadataWithLogout::discover(&issuer, &http)?;
    let end_session = metadata.additional_metadata().end_session_endpoint.clone().ok_or("no end_session_endpoint")?;
    let sign_out = openidconnect::LogoutRequest::from(end_session)
        .set_id_token_hint(id_token)
        .set_post_logout_redirect_uri(openidconnect::PostLogoutRedirectUrl::new(std::env::var("POST_LOGOUT_REDIRECT_URI")?)?);
    println!("{}", sign_out.http_get_url());
