-- A sign-in that waits for the code in a mail. The code is hashed with the secret of the cookie, which is not here.
create table mail_codes (
  token_hash text primary key,
  user_id text references users (user_id) on delete cascade,
  email text not null,
  code_hash text not null,
  failures bigint not null,
  request_id text,
  next text,
  created_at bigint not null,
  expires_at bigint not null
);
create index mail_codes_of_user on mail_codes (user_id);
create index mail_codes_by_expiry on mail_codes (expires_at);
