-- A stream of a client, about its own users alone. `credential_id` is then the client as well: the audience of its tokens.
alter table signal_streams add column client_id text;
create index signal_streams_of_client on signal_streams (client_id) where client_id is not null;

-- Clients with a stream whose user was disabled or deleted: events about the user until this second are for them all the same.
create table signal_leavings (
  user_id text not null,
  client_id text not null,
  counts_until bigint not null,
  primary key (user_id, client_id)
);
create index signal_leavings_by_end on signal_leavings (counts_until);
