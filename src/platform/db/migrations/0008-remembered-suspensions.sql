-- What a suspended client was, for as long as reviewers are warned of whoever goes on with it after it was deleted.
create table remembered_suspensions (
  client_id text primary key,
  owner_user_id text,
  name text not null,
  redirect_uris text not null,
  deleted_at bigint not null
);
create index remembered_suspensions_by_time on remembered_suspensions (deleted_at);
