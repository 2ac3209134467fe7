-- Of a store in several parts: which server has a cell. A store in one part has no rows here.
create table cells (
  name text primary key,
  -- Its place in the order of the buckets, from 0, and how many cells there are.
  place bigint not null,
  cells bigint not null,
  -- As SIGNET_CELL_SERVERS names it; empty: the database of SIGNET_DATABASE_URL.
  server text not null
);

-- What only one person may have in all parts together, and who has it or is about to get it. A store in one part has no rows here.
create table claims (
  -- What it is, as 'email:' with the key of an address.
  claim_key text primary key,
  user_id text not null,
  -- Since when it is about to be taken or given up; null: it is held.
  since bigint
);
create index unsettled_claims on claims (since) where since is not null;
