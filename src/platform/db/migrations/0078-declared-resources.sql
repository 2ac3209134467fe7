-- What files declare (signet apply), by the key that they call it by. What apply has made itself (1) it may delete again; what was
-- here before (0) it only changes.
create table declared_resources (
  kind text not null,
  resource_key text not null,
  resource_id text not null,
  made_by_apply bigint not null,
  declared_at bigint not null,
  primary key (kind, resource_key)
) /* sqlite: without rowid */;
