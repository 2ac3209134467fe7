-- Whether a change is pending is rarer than the status, and no planner knows that: the index has no status to be chosen by.
drop index clients_with_pending_change;
create index clients_with_pending_change on clients (created_at, client_id) where pending_change is not null;
-- Whether a client that reviews compare with has changed.
create index clients_changed on clients (status, updated_at);
