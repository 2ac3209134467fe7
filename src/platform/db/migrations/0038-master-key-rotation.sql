-- What is left of master keys that were replaced: sealed under the current one, it verifies and opens nothing.
create table retired_master_keys (
  key_id text primary key,
  sealed text not null
);

-- The master key by which a process seals, by its name; null of a process of the version before.
alter table issuing_runs add column master_key_id text;
