-- What anybody can cause without being signed in: refused sign-ins, links that were asked for. Outside of the audit log,
-- whose rows stay for ever: those of one hour that are alike are one row that counts, an hour has so many rows at most,
-- and all of them go after a time.
create table unauthenticated_events (
  event_key text primary key,
  hour bigint not null,
  action text not null,
  reason text,
  target text,
  detail text,
  address text,
  first_at bigint not null,
  last_at bigint not null,
  count bigint not null
);
create index unauthenticated_events_by_hour on unauthenticated_events (hour);
create index unauthenticated_events_by_time on unauthenticated_events (first_at, event_key);
create index unauthenticated_events_of_target on unauthenticated_events (target, first_at) where target is not null;
