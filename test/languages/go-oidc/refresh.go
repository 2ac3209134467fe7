package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var (
	provider *oidc.Provider
	config   oauth2.Config
	token    *oauth2.Token
)

// What the snippet leaves out: it keeps no token.
func remember(p *oidc.Provider, c oauth2.Config, t *oauth2.Token) {
	provider, config, token = p, c, t
}

func init() {
	http.HandleFunc("/refresh", func(w http.ResponseWriter, r *http.Request) {
		expired := *token
		expired.Expiry = time.Now().Add(-time.Hour)
		after, err := config.TokenSource(context.Background(), &expired).Token()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"before": token.AccessToken, "after": after.AccessToken})
	})
	http.HandleFunc("/signout", func(w http.ResponseWriter, r *http.Request) {
		var metadata struct {
			EndSession string `json:"end_session_endpoint"`
		}
		if err := provider.Claims(&metadata); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		query := url.Values{"id_token_hint": {raw}, "post_logout_redirect_uri": {os.Getenv("POST_LOGOUT_REDIRECT_URI")}}
		http.Redirect(w, r, metadata.EndSession+"?"+query.Encode(), http.StatusFound)
	})
}
