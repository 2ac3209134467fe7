-- What a directory says of users by SCIM, besides what stands in their own row. A user without a row was never changed by one.
create table scim_users (
  user_id text primary key references users (user_id) on delete cascade,
  -- As the directory has sent it, and the same for all spellings of it.
  user_name text not null,
  user_name_key text not null,
  -- The id of the user in the directory.
  external_id text,
  -- 1 unless the directory says of the address that it is not the primary one.
  email_primary bigint not null,
  -- The service credential that has made the account; null: the account was there before.
  created_by text,
  created_at bigint not null
);
create unique index scim_users_by_name on scim_users (user_name_key);
create index scim_users_by_external_id on scim_users (external_id) where external_id is not null;
