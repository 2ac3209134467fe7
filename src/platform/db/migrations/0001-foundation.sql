-- Unix seconds everywhere; a nullable "..._at" is a state; ids are made in code.

create table master_key_check (
  id text primary key,
  sealed text not null
);

create table signing_keys (
  kid text primary key,
  algorithm text not null,
  status text not null,
  public_jwk text not null,
  private_key_sealed text,
  created_at bigint not null,
  activated_at bigint,
  retired_at bigint
);
create unique index signing_keys_one_active on signing_keys (algorithm) where status = 'active';
create unique index signing_keys_one_next on signing_keys (algorithm) where status = 'next';

create table users (
  user_id text primary key,
  email text not null,
  email_key text not null unique,
  email_verified_at bigint,
  name text,
  picture text,
  role text not null,
  locale text,
  disabled_at bigint,
  created_at bigint not null,
  updated_at bigint not null
);

create table passwords (
  user_id text primary key references users (user_id) on delete cascade,
  password_hash text not null,
  changed_at bigint not null
);

create table sessions (
  session_id text primary key,
  token_hash text not null unique,
  user_id text not null references users (user_id) on delete cascade,
  created_at bigint not null,
  auth_time bigint not null,
  amr text not null,
  acr text not null,
  last_seen_at bigint not null,
  idle_expires_at bigint not null,
  expires_at bigint not null,
  ended_at bigint,
  end_reason text,
  address text,
  user_agent text
);
create index sessions_of_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

create table one_time_links (
  token_hash text primary key,
  purpose text not null,
  user_id text references users (user_id) on delete cascade,
  email text,
  created_at bigint not null,
  expires_at bigint not null
);

-- What may be used once leaves its hash here. The primary key decides the race, and the loser's whole batch fails.
create table spent_tokens (
  token_hash text primary key,
  expires_at bigint not null
);
create index spent_tokens_by_expiry on spent_tokens (expires_at);

create table clients (
  client_id text primary key,
  owner_user_id text references users (user_id) on delete set null,
  name text not null,
  client_type text not null,
  redirect_uris text not null,
  allowed_scopes text not null,
  logo_url text,
  homepage_url text,
  id_token_signed_response_alg text not null,
  refresh_retry_window bigint not null,
  consent text not null,
  status text not null,
  status_reason text,
  revision bigint not null,
  pending_change text,
  event_id text not null,
  created_at bigint not null,
  updated_at bigint not null
);
create index clients_of_owner on clients (owner_user_id);
create index clients_by_status on clients (status, created_at);

create table client_secrets (
  secret_id text primary key,
  client_id text not null references clients (client_id) on delete cascade,
  secret_hash text not null,
  created_at bigint not null,
  expires_at bigint
);
create index client_secrets_of_client on client_secrets (client_id);

create table authorization_requests (
  request_id text primary key,
  browser_hash text not null,
  client_id text not null references clients (client_id) on delete cascade,
  parameters text not null,
  authenticated_session_id text,
  account_selected_at bigint,
  consented_user_id text,
  created_at bigint not null,
  expires_at bigint not null
);
create index authorization_requests_by_expiry on authorization_requests (expires_at);

-- One row from authorization code to last refresh token.
create table grants (
  grant_id text primary key,
  client_id text not null references clients (client_id) on delete cascade,
  user_id text not null references users (user_id) on delete cascade,
  session_id text not null,
  scope text not null,
  redirect_uri text not null,
  nonce text,
  code_hash text not null unique,
  code_challenge text not null,
  code_expires_at bigint not null,
  redeemed_at bigint,
  refresh_seq bigint not null,
  refreshed_at bigint,
  idle_expires_at bigint not null,
  expires_at bigint not null,
  auth_time bigint not null,
  amr text not null,
  acr text not null,
  created_at bigint not null,
  revoked_at bigint,
  revoked_reason text,
  revoked_event_id text
);
create index grants_of_user on grants (user_id);
create index grants_of_client on grants (client_id);
create index grants_of_session on grants (session_id);
create index grants_by_expiry on grants (expires_at);
create index grants_unredeemed on grants (code_expires_at) where redeemed_at is null;

create table revoked_access_tokens (
  jti text primary key,
  expires_at bigint not null
);
create index revoked_access_tokens_by_expiry on revoked_access_tokens (expires_at);

create table consents (
  user_id text not null references users (user_id) on delete cascade,
  client_id text not null references clients (client_id) on delete cascade,
  scope text not null,
  granted_at bigint not null,
  primary key (user_id, client_id)
);

create table failure_counters (
  counter_key text primary key,
  failures bigint not null,
  window_ends_at bigint not null,
  blocked_until bigint not null,
  expires_at bigint not null
);
create index failure_counters_by_expiry on failure_counters (expires_at);

create table audit_log (
  event_id text primary key,
  at bigint not null,
  action text not null,
  actor text not null,
  target text,
  reason text,
  before_state text,
  after_state text,
  address text
);
create index audit_log_by_time on audit_log (at);
create index audit_log_of_target on audit_log (target, at);
