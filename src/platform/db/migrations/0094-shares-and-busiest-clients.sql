-- Up to where a count of many rows has come, by name. `after_id`: the last one counted; null: all are, since `began_at` (Unix seconds).
create table count_walks (
  name text primary key,
  began_at bigint not null,
  after_id text,
  users bigint not null,
  second_factor bigint not null,
  passkeys bigint not null
);

-- Sums of the sign-ins at each client are counts without a day: those with most are found by it.
create index daily_counts_busiest on daily_counts (kind, count) where day = 0 and client_id <> '';
