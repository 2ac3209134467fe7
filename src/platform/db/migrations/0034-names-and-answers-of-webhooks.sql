-- What administrators call a webhook; null: it is called by its host.
alter table webhooks add column name text;
-- The answer to the latest attempt; null: there was none, or a node of an earlier version made the attempt.
alter table webhook_deliveries add column response_status bigint;
alter table webhook_deliveries add column response_body text;
alter table webhook_deliveries add column duration_ms bigint;
