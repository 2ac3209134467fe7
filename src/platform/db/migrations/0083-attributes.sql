-- What the operator keeps of each user besides the standard claims. An id is never used again, so that the values of a deleted attribute
-- are not those of another of its name.
create table attributes (
  attribute_id text primary key,
  -- Of the claim.
  name text not null,
  -- The same for names that differ in case.
  name_key text not null,
  -- What people read, by language, as JSON.
  labels text not null,
  value_type text not null,
  -- Bounds and allowed values, as JSON.
  rules text not null,
  -- Which scope releases it.
  scope text not null,
  -- person or administrator
  editable_by text not null,
  -- Whether its person sees it.
  is_shown bigint not null,
  -- no, offered or required
  sign_up text not null,
  -- The order on forms.
  place bigint not null,
  -- The audit event of the last change.
  event_id text not null,
  created_at bigint not null,
  updated_at bigint not null,
  -- Its values are then removed by a job, and it after them.
  deleted_at bigint,
  -- Up to this user they are removed.
  removed_to text not null default ''
);
create unique index attributes_by_name on attributes (name_key) where deleted_at is null;
create index deleted_attributes on attributes (deleted_at) where deleted_at is not null;

-- The values, by attribute_id, as JSON; null: none.
alter table users add column attributes text;
