-- APIs that verify our tokens, as administrators register them (RFC 8707). An id and the name of a scope are never used again, so
-- that what was allowed of a retired one is not allowed of another.
create table apis (
  api_id text primary key,
  identifier text not null,
  -- The same for every spelling of one URL.
  identifier_key text not null,
  name text not null,
  description text,
  event_id text not null,
  created_at bigint not null,
  retired_at bigint
);
create unique index apis_by_identifier on apis (identifier_key) where retired_at is null;

create table api_scopes (
  name text primary key,
  api_id text not null references apis (api_id) on delete cascade,
  -- One sentence for people in each language, as a JSON object.
  descriptions text not null,
  created_at bigint not null,
  retired_at bigint
);
create index api_scopes_of_api on api_scopes (api_id);

-- The API that introspects its own tokens by this credential.
alter table service_credentials add column api_id text references apis (api_id) on delete cascade;

-- Ids of the APIs that the tokens of a grant are for, and that a user has allowed, separated by spaces; null: none.
alter table grants add column apis text;
alter table consents add column apis text;
