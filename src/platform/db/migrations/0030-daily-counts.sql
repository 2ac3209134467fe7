-- How often something happened on a day: of all (client_id '') and of one client. `day` is days since 1970 in UTC.
create table daily_counts (
  client_id text not null,
  kind text not null,
  day bigint not null,
  count bigint not null,
  primary key (client_id, kind, day)
);
create index daily_counts_by_day on daily_counts (day);

-- The last day on which a user signed in; daily_counts has how many users there are of each day.
create table active_users (
  user_id text primary key,
  day bigint not null
);
create index active_users_by_day on active_users (day);

-- Up to where the audit log and the unauthenticated events are counted. One row.
create table counted_places (
  place text primary key,
  audit_seq bigint not null,
  hour bigint not null
);
insert into counted_places (place, audit_seq, hour) values ('all', 0, 0);
