-- A sign-in and the list of sessions read those that are active, and none that ended in the last weeks.
create index sessions_active_of_user on sessions (user_id) where ended_at is null;
