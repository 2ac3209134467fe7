-- Clients that nobody has registered here: by a metadata document, whose URL is the client_id, or by dynamic registration
-- (RFC 7591). Null: registered by its owner, an administrator or the operator.
alter table clients add column origin text;
-- When a user asked for its review; null before that, and once it is decided.
alter table clients add column review_asked_at bigint;
create index clients_from_outside on clients (status, created_at, client_id) where origin is not null;

-- What the metadata document of a client has said last, as the fields of a client in JSON, and until when that is fresh.
create table client_documents (
  client_id text primary key references clients (client_id) on delete cascade,
  fields text not null,
  fetched_at bigint not null,
  fresh_until bigint not null
);

-- Hosts whose metadata documents are approved in advance, with the scopes that their clients may have, as JSON.
create table approved_hosts (
  host text primary key,
  allowed_scopes text not null,
  event_id text not null,
  created_at bigint not null,
  updated_at bigint not null
);
