package com.example;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.time.Duration;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.Authentication;
import org.springframework.security.oauth2.client.OAuth2AuthorizeRequest;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientProviderBuilder;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizedClientRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
class App {
  private final DefaultOAuth2AuthorizedClientManager manager;
  private final OAuth2AuthorizedClientRepository authorized;

  App(ClientRegistrationRepository clients, OAuth2AuthorizedClientRepository authorized) {
    this.authorized = authorized;
    manager = new DefaultOAuth2AuthorizedClientManager(clients, authorized);
    // Longer than an access token lives, so each use is a refresh.
    manager.setAuthorizedClientProvider(
        OAuth2AuthorizedClientProviderBuilder.builder()
            .refreshToken(refresh -> refresh.clockSkew(Duration.ofHours(2)))
            .build());
  }

  public static void main(String[] args) {
    SpringApplication.run(App.class, args);
  }

  @GetMapping("/")
  Map<String, String> user(@AuthenticationPrincipal OidcUser user) {
    return Map.of("sub", user.getSubject(), "email", user.getUserInfo().getEmail());
  }

  @GetMapping("/refresh")
  Map<String, String> refresh(
      Authentication authentication, HttpServletRequest request, HttpServletResponse response) {
    var before = authorized.loadAuthorizedClient("signet", authentication, request);
    var after =
        manager.authorize(
            OAuth2AuthorizeRequest.withClientRegistrationId("signet")
                .principal(authentication)
                .attribute(HttpServletRequest.class.getName(), request)
                .attribute(HttpServletResponse.class.getName(), response)
                .build());
    return Map.of(
        "before", before.getAccessToken().getTokenValue(),
        "after", after.getAccessToken().getTokenValue());
  }
}
