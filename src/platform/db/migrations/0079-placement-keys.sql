-- The key by which an address says where its account is in a store of several parts, sealed. It is never replaced.
create table placement_keys (
  name text not null primary key,
  sealed text not null
) /* sqlite: without rowid */;
