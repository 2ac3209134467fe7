-- What a relying party is and what it needs. A public client that listens on a loopback address is a native app: it keeps
-- the right to any port there (RFC 8252 §7.3).
alter table clients add column application_type text not null default 'web';
alter table clients add column post_logout_redirect_uris text not null default '[]';
alter table clients add column backchannel_logout_uri text;
alter table clients add column backchannel_logout_session_required bigint not null default 0;
alter table clients add column claims_in_id_token bigint not null default 0;
alter table clients add column token_endpoint_auth_method text;
alter table clients add column library text;
update clients set application_type = 'native'
 where client_type = 'public' and (redirect_uris like '%"http://127.0.0.1%' or redirect_uris like '%"http://[::1]%');
