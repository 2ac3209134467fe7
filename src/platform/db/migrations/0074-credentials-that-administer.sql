-- When a service credential ends by itself, in Unix seconds; null: never.
alter table service_credentials add column expires_at bigint;
-- Addresses and subnets from which it is taken, as a JSON list; empty: from anywhere.
alter table service_credentials add column addresses text not null default '[]';
