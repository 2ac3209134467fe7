-- A delivery that is sent again waits, and keeps when it was delivered or given up (platform/db/delivery-queue.ts). A list of
-- the deliveries in one state still reads no others, and neither does the count of the dead ones.
drop index webhook_deliveries_by_state;
drop index webhook_deliveries_dead_of_webhook;
create index webhook_deliveries_by_state on webhook_deliveries
  (webhook_id, (case when next_attempt_at is not null then 'waiting' when dead_at is null then 'delivered' else 'dead' end),
   created_at, delivery_id);
drop index logout_deliveries_by_state;
create index logout_deliveries_by_state on logout_deliveries
  (client_id, (case when next_attempt_at is not null then 'waiting' when dead_at is null then 'delivered' else 'dead' end),
   created_at, delivery_id);
