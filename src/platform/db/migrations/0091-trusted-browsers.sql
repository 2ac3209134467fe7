-- A browser whose user is not asked for the second factor. What its cookie proves itself with is another secret after each sign-in.
create table trusted_browsers (
  series_hash text primary key,
  user_id text not null references users (user_id) on delete cascade,
  secret_hash text not null,
  created_at bigint not null,
  last_used_at bigint not null,
  expires_at bigint not null,
  address text,
  user_agent text
);
create index trusted_browsers_of_user on trusted_browsers (user_id);
create index trusted_browsers_by_expiry on trusted_browsers (expires_at);

-- Of the browser that stood in for the second factor of this sign-in. No reference: a session outlives the trust, and then counts for less.
alter table sessions add column trusted_by text;
