-- What users are found by: folded words of their name, address and handle (platform/search-terms.ts). The order of bytes lets
-- an index find the terms that begin with a word.
create table user_terms (
  term text /* postgres: collate "C" */ not null,
  user_id text not null references users (user_id) on delete cascade,
  field text not null,
  primary key (term, user_id, field)
) /* sqlite: without rowid */;
create index user_terms_of_user on user_terms (user_id, term, field);

-- The `updated_at` for which the terms of a user are complete. A job writes those of the others: users of an earlier version,
-- and users that a node of that version changes during a rolling upgrade.
alter table users add column terms_of bigint;
create index users_with_missing_terms on users (user_id) where terms_of is distinct from updated_at;
