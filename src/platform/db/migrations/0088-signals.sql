-- Security events for other services (Shared Signals Framework 1.0). A stream is of one service credential; one that is deleted stays
-- until what is queued for it is gone.
create table signal_streams (
  stream_id text primary key,
  credential_id text not null,
  description text,
  method text not null,
  endpoint_url text,
  authorization_sealed text,
  events_requested text not null,
  status text not null,
  reason text,
  created_at bigint not null,
  deleted_at bigint
);
create unique index signal_streams_of_credential on signal_streams (credential_id) where deleted_at is null;

-- The queue of each stream. It outlives its user, whose deletion is such an event. Without a user it is about the stream.
create table signal_deliveries (
  delivery_id text primary key,
  stream_id text not null,
  user_id text,
  event_id text not null,
  ordinal bigint not null,
  event_type text not null,
  payload text not null,
  created_at bigint not null,
  attempts bigint not null,
  next_attempt_at bigint,
  last_error text,
  delivered_at bigint,
  dead_at bigint
);
create unique index signal_deliveries_of_event on signal_deliveries (stream_id, event_id, ordinal);
create index signal_deliveries_due on signal_deliveries (stream_id, next_attempt_at) where next_attempt_at is not null;
create index signal_deliveries_waiting on signal_deliveries (stream_id, created_at, event_id, ordinal) where next_attempt_at is not null;
create index signal_deliveries_of_user on signal_deliveries (stream_id, user_id, created_at, event_id, ordinal) where next_attempt_at is not null;
create index signal_deliveries_overdue on signal_deliveries (next_attempt_at) where next_attempt_at is not null;
create index signal_deliveries_of_stream on signal_deliveries (stream_id, created_at, delivery_id);
create index signal_deliveries_by_state on signal_deliveries
  (stream_id, (case when next_attempt_at is not null then 'waiting' when dead_at is null then 'delivered' else 'dead' end),
   created_at, delivery_id);
create index signal_deliveries_delivered on signal_deliveries (delivered_at) where delivered_at is not null;
create index signal_deliveries_dead on signal_deliveries (dead_at) where dead_at is not null;

-- The users of whom a receiver wants to hear nothing.
create table signal_exclusions (
  user_id text not null references users (user_id) on delete cascade,
  stream_id text not null,
  primary key (user_id, stream_id)
);
create index signal_exclusions_of_stream on signal_exclusions (stream_id);
