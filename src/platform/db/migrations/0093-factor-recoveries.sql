-- A user who has the password and has lost every second factor waits for these to be removed. One row a user. What has ended stays until
-- another one may be asked for. The secrets of the links are hashed; null: that link was not mailed yet.
create table factor_recoveries (
  user_id text primary key references users (user_id) on delete cascade,
  email text not null,
  requested_at bigint not null,
  due_at bigint not null,
  notify_at bigint,
  expires_at bigint not null,
  ended_at bigint,
  end_reason text,
  stop_hash text not null,
  reminder_hash text,
  link_hash text,
  address text,
  user_agent text
);
create index factor_recoveries_by_expiry on factor_recoveries (expires_at);
create index factor_recoveries_by_mail on factor_recoveries (notify_at);
create index factor_recoveries_by_stop on factor_recoveries (stop_hash);
create index factor_recoveries_by_reminder on factor_recoveries (reminder_hash);
create index factor_recoveries_by_link on factor_recoveries (link_hash);

-- When the provider last said that the address is verified. Null: never, or not since this is noted.
alter table identities add column email_verified_at bigint;
