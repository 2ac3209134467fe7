-- A sign-in between its first factor and its session.
create table sign_in_attempts (
  attempt_hash text primary key,
  user_id text not null references users (user_id) on delete cascade,
  methods text not null,
  request_id text,
  next text,
  failures bigint not null,
  created_at bigint not null,
  expires_at bigint not null
);
create index sign_in_attempts_of_user on sign_in_attempts (user_id);
create index sign_in_attempts_by_expiry on sign_in_attempts (expires_at);

-- One row a person: the secret in force, and the one that waits for its first code, in the session that asked for it.
-- `last_step` only grows.
create table totp (
  user_id text primary key references users (user_id) on delete cascade,
  pending_secret_sealed text,
  pending_session_id text,
  pending_expires_at bigint,
  pending_tries bigint,
  secret_sealed text,
  confirmed_at bigint,
  last_step bigint,
  last_used_at bigint
);

create table backup_codes (
  code_hash text primary key,
  user_id text not null references users (user_id) on delete cascade,
  generated_at bigint not null,
  used_at bigint
);
create index backup_codes_of_user on backup_codes (user_id);

create table passkeys (
  credential_id text primary key,
  user_id text not null references users (user_id) on delete cascade,
  public_key text not null,
  sign_count bigint not null,
  transports text not null,
  backed_up_at bigint,
  name text not null,
  created_at bigint not null,
  last_used_at bigint
);
create index passkeys_of_user on passkeys (user_id);

-- Who somebody is at an upstream provider: issuer and subject, never the e-mail address.
create table identities (
  issuer text not null,
  subject text not null,
  user_id text not null references users (user_id) on delete cascade,
  provider text not null,
  email text,
  linked_at bigint not null,
  last_used_at bigint not null,
  primary key (issuer, subject)
);
create index identities_of_user on identities (user_id);

-- Browsers that a person has signed in with, so that a new one can be told to them.
create table known_devices (
  user_id text not null references users (user_id) on delete cascade,
  device_hash text not null,
  first_seen_at bigint not null,
  last_seen_at bigint not null,
  primary key (user_id, device_hash)
);
create index known_devices_by_use on known_devices (last_seen_at);

-- Mail that was promised together with the change that it tells about, and is sent after it. Sealed: its links open things.
create table outgoing_mails (
  mail_id text primary key,
  message_sealed text not null,
  created_at bigint not null,
  attempts bigint not null,
  next_attempt_at bigint not null
);
create index outgoing_mails_by_time on outgoing_mails (next_attempt_at);

-- What the sign-in that a link ends in is for: the waiting authorization request, or a path. A person has one link of
-- each kind, so the newest is the only one, also of two that were asked for at once.
alter table one_time_links add column request_id text;
alter table one_time_links add column next text;
create unique index one_time_links_one_each on one_time_links (user_id, purpose) where user_id is not null;
create index one_time_links_by_expiry on one_time_links (expires_at);

-- The secret of the session by which a code was asked for: a code is worth nothing once the session carries another.
alter table grants add column session_token_hash text;
