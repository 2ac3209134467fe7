-- Settings that are changed while the server runs. `value`: as in the environment; null: the default. `revision` counts the changes.
create table settings (
  name text primary key,
  value text,
  revision bigint not null,
  changed_at bigint not null
);
