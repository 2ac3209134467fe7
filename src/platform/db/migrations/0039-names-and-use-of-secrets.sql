-- What its owner calls a secret, how it ends, and when it was used last, to the hour. Null where it is not known: of secrets
-- that were made before, or by a node of the version before.
alter table client_secrets add column name text;
alter table client_secrets add column last_four text;
alter table client_secrets add column last_used_at bigint;
alter table service_secrets add column last_four text;
alter table service_secrets add column last_used_at bigint;
