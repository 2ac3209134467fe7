-- Authorization requests that a client has pushed (RFC 9126), until the code of one is issued. Of the secret in its request_uri there is a digest.
create table pushed_requests (
  -- It begins with the time, so that new rows are neighbours in every index.
  pushed_id text primary key,
  secret_hash text not null,
  client_id text not null references clients (client_id) on delete cascade,
  parameters text not null,
  created_at bigint not null,
  -- Until when a sign-in may begin with it; one that has begun goes on.
  expires_at bigint not null
);
create index pushed_requests_by_expiry on pushed_requests (expires_at);
create index pushed_requests_of_client on pushed_requests (client_id);

alter table clients add column require_pushed_authorization_requests bigint not null default 0;
alter table clients add column require_signed_request_object bigint not null default 0;
