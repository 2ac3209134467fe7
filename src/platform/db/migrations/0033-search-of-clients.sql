-- What clients are found by: the folded words of their name (platform/search-terms.ts), as users are by theirs.
create table client_terms (
  term text /* postgres: collate "C" */ not null,
  client_id text not null references clients (client_id) on delete cascade,
  primary key (term, client_id)
) /* sqlite: without rowid */;
create index client_terms_of_client on client_terms (client_id, term);

-- The name that the terms are made from. A job writes those of clients of an earlier version.
alter table clients add column terms_of text;
create index clients_with_missing_terms on clients (client_id) where terms_of is distinct from name;

-- A page of the clients in one status, in their order.
create index clients_in_status on clients (status, created_at, client_id);
drop index clients_by_status;
