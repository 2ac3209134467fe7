-- The security profile that a reviewer holds a client to; null: none.
alter table clients add column profile text;
