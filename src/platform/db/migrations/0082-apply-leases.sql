-- Who applies files now (signet apply): one row at most, taken over once its time is over. Times are Unix seconds.
create table apply_leases (
  name text primary key,
  holder text not null,
  held_by text not null,
  held_since bigint not null,
  held_until bigint not null
);
