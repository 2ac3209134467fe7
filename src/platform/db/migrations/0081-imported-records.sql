-- What an import of an export has read: a digest of where a record comes from, its kind and its id there. It stays when what was made of
-- the record is deleted, so that the same import again brings nothing back.
create table imported_records (
  import_key text primary key,
  imported_at bigint not null
);
