-- OpenID Connect issuers to sign in with that administrators or files have added, beside those of the settings (SIGNET_PROVIDER_...).
-- An identity is kept under its issuer, so no two may have the same.
create table providers (
  provider_id text primary key,
  issuer text not null unique,
  label text not null,
  upstream_client_id text not null,
  client_secret_sealed text not null,
  groups_claim text,
  scope text,
  created_at bigint not null,
  disabled_at bigint
);
