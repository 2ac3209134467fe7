-- What the newest sign of life of a server says: one row, named 'newest'. The command line learns from it how links
-- begin and whether mail is sent, and nodes compare their clocks by it.
create table server_heartbeat (
  name text primary key,
  node text not null,
  at bigint not null,
  base_url text not null,
  mail text not null
);
