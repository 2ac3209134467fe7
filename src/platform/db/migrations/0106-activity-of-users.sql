-- Whom an event concerns that somebody else has caused, where its target is something else: a session, a grant or a group. The words of the
-- index are those of audit/store.ts; see migration 0049. Null for events of the version before.
alter table audit_log add column of_user text;
create index audit_log_of_user on audit_log (of_user, (seq + 0)) where seq is not null and of_user is not null;

-- Apps whose access to an account has ended with that of all their users: the event of it names the app alone. `grant_id`, one of those that
-- have ended, tells rows of one second apart. The client has no reference: its users read it when the client is gone, too.
create table lost_apps (
  user_id text not null references users (user_id) on delete cascade,
  client_id text not null,
  lost_at bigint not null,
  action text not null,
  -- Null where the app had given its name by itself.
  name text,
  grant_id text not null,
  primary key (user_id, client_id, lost_at)
);
create index lost_apps_of_user on lost_apps (user_id, lost_at, grant_id);
create index lost_apps_by_time on lost_apps (lost_at);
