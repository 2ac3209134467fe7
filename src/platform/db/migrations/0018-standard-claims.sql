-- What users say about themselves, for the scope profile (OpenID Connect Core §5.1).
alter table users add column given_name text;
alter table users add column family_name text;
alter table users add column nickname text;
alter table users add column preferred_username text;
alter table users add column profile text;
alter table users add column website text;
alter table users add column gender text;
alter table users add column birthdate text;
alter table users add column zoneinfo text;

-- The handles that are in use, and for a while those that were: nobody else gets them meanwhile. They outlive the account,
-- so only their hash is here.
create table handles (
  handle_hash text primary key,
  user_id text not null,
  released_at bigint
);
create index handles_of_user on handles (user_id);
create index handles_by_release on handles (released_at);

-- Claims that an authorization request asked for one by one (OpenID Connect Core §5.5), and those that a user allowed.
alter table grants add column claims text;
alter table consents add column claims text;
