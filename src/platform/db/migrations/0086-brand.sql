-- What the service looks like and is called, as administrators say it: each change is a row, and the newest counts.
create table brand_versions (
  -- The number of the version as text.
  version_key text primary key,
  version bigint not null,
  -- As JSON.
  settings text not null,
  -- The version that this one is as, if it undoes what came after that.
  restored_from bigint,
  -- Who said it, as in the audit log.
  actor text not null,
  created_at bigint not null
);
create index brand_versions_by_number on brand_versions (version);

-- The pictures of these versions.
create table brand_pictures (
  -- Of its content: SHA-256, 32 hexadecimal digits.
  picture_id text primary key,
  media_type text not null,
  -- Base64.
  content text not null,
  created_at bigint not null
);
