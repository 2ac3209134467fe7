-- Groups of users. An id is never used again, so that what was allowed to a deleted group is not allowed to another.
create table groups (
  group_id text primary key,
  name text not null,
  -- The same for names that differ in case or in how they are composed.
  name_key text not null,
  description text,
  -- What another system that maintains the group calls it.
  external_id text,
  -- The audit event of the last change to name, description or external id.
  event_id text not null,
  created_at bigint not null,
  updated_at bigint not null,
  -- Its members are then deleted by a job, and it with the last of them.
  deleted_at bigint
);
create unique index groups_by_name on groups (name_key) where deleted_at is null;
create index groups_by_external_id on groups (external_id) where external_id is not null;
create index deleted_groups on groups (deleted_at) where deleted_at is not null;

create table group_members (
  group_id text not null references groups (group_id) on delete cascade,
  user_id text not null references users (user_id) on delete cascade,
  -- The id of the identity provider whose claim has it; null if a person or a program has put the user into the group.
  provider text,
  added_at bigint not null,
  primary key (group_id, user_id)
);
create index group_members_by_time on group_members (group_id, added_at, user_id);
create index groups_of_member on group_members (user_id);

-- Ids of groups, separated by spaces: whose members may use the client, and which it reads in the claim `groups`; null: everyone, and all.
alter table clients add column allowed_groups text;
alter table clients add column visible_groups text;
