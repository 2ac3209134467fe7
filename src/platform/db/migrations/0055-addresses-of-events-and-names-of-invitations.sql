-- What was done from one address. The words of the expression are those of audit/store.ts; see migration 0049. It is partial so that
-- no other search can take it: PostgreSQL would skip from address to address.
create index audit_log_of_address on audit_log (address, (seq + 0)) where seq is not null and address is not null;

-- The name and the role of the account that an invitation makes, and who has invited; null where the person is to choose a name, for a
-- user, and where no role but that is given.
alter table one_time_links add column name text;
alter table one_time_links add column role text;
alter table one_time_links add column invited_by text;
