-- The list of clients reads the page that it shows, and the queue of reviews no other clients.
create index clients_oldest on clients (created_at, client_id) where status <> 'deleted';
create index clients_with_pending_change on clients (status, created_at, client_id) where pending_change is not null;
-- The newest events of one target, without sorting all of them.
create index audit_log_of_target_by_seq on audit_log (target, seq) where seq is not null;
-- What failed of each webhook is counted without reading what was delivered.
create index webhook_deliveries_dead_of_webhook on webhook_deliveries (webhook_id) where dead_at is not null;
