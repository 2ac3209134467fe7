-- The picture that people see of a client, by its digest; null: none. A reviewer has seen it.
alter table clients add column logo_id text;

-- What was fetched from the `logo_url` of a client. `found`: from the address that it wants, for its reviewer. `shown`: what people see.
create table client_logos (
  client_id text not null references clients (client_id) on delete cascade,
  stage text not null,
  url text not null,
  -- Of its content: SHA-256, 32 hexadecimal digits. Null until it has been fetched, with what follows.
  picture_id text,
  media_type text,
  -- Base64.
  content text,
  width bigint,
  height bigint,
  fetched_at bigint,
  -- Why it could not be fetched: a code, and what the answer said.
  problem text,
  detail text,
  attempts bigint not null,
  tried_at bigint,
  -- Null: it is not tried again by itself.
  next_attempt_at bigint,
  primary key (client_id, stage)
);
create index client_logos_by_picture on client_logos (picture_id);
create index client_logos_due on client_logos (next_attempt_at) where next_attempt_at is not null;
