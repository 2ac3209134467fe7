-- The account that an import has made of a user of another product. The key is a digest of the source and of the user's id there,
-- so that it may stay when the user is deleted: the same import again makes neither a second account nor a deleted one anew.
create table imported_users (
  import_key text primary key,
  user_id text not null,
  imported_at bigint not null
) /* sqlite: without rowid */;

-- What an authenticator calls its user, in base64url, where the passkey was made by another product. Null: as ours are called.
alter table passkeys add column user_handle text;
