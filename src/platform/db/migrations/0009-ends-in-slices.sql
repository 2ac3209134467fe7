-- An end of more grants than one statement may change. From the moment it is here its grants are dead: every read that
-- serves a grant asks this table, and a job writes it on the rows slice by slice. It covers the grants of a client, or of
-- a user, or of that user's session, client, or every session but one, as far as they are older than the end.
create table grant_endings (
  ending_id text primary key,
  client_id text references clients (client_id) on delete cascade,
  user_id text references users (user_id) on delete cascade,
  session_id text,
  kept_session_id text,
  epoch bigint not null,
  reason text not null,
  ended_at bigint not null
);
create index grant_endings_of_client on grant_endings (client_id);
create index grant_endings_of_user on grant_endings (user_id);

-- Older or younger: each mass end raises the epoch of its client or user, and a grant keeps those it was born in.
alter table clients add column grants_epoch bigint not null default 0;
alter table users add column grants_epoch bigint not null default 0;
alter table grants add column client_epoch bigint not null default 0;
alter table grants add column user_epoch bigint not null default 0;

-- The grants that have not ended, without reading those that have.
create index grants_live_of_client on grants (client_id, revoked_at, client_epoch);
drop index grants_of_user;
create index grants_of_user on grants (user_id, revoked_at, user_epoch);
drop index grants_of_session;
create index grants_of_session on grants (session_id, revoked_at);

-- A deleted client or person is gone at once; what they had is deleted slice by slice, and the row last.
alter table users add column deleted_at bigint;
create index users_deleted on users (deleted_at) where deleted_at is not null;

-- What cascades finds its rows.
create index consents_of_client on consents (client_id);
create index authorization_requests_of_client on authorization_requests (client_id);
create index one_time_links_by_purpose on one_time_links (purpose);
