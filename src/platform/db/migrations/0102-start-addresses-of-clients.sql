-- Where users start a client (OpenID Connect Core section 4).
alter table clients add column initiate_login_uri text;

-- Those that people may start without having used them before.
create index clients_to_start on clients (created_at, client_id)
  where status = 'approved' and origin is null and (is_first_party = 1 or allowed_groups is not null)
    and (initiate_login_uri is not null or homepage_url is not null);
