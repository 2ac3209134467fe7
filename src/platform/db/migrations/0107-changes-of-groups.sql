-- Groups that were renamed or deleted: whose members' claims have changed, and how far other services have been notified of that. A row for
-- each part of the store, which is gone when it is done.
create table group_changes (
  event_id text not null,
  part text not null,
  group_id text not null,
  action text not null,
  actor text not null,
  changed_at bigint not null,
  -- The last member that is done.
  after_user_id text not null,
  primary key (event_id, part)
);
create index group_changes_of_group on group_changes (group_id);
