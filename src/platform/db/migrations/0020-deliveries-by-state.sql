-- A list of the deliveries in one state reads no others, of which there may be any number (platform/db/delivery-queue.ts).
create index webhook_deliveries_by_state on webhook_deliveries
  (webhook_id, (case when delivered_at is not null then 'delivered' when dead_at is null then 'waiting' else 'dead' end),
   created_at, delivery_id);
create index logout_deliveries_by_state on logout_deliveries
  (client_id, (case when delivered_at is not null then 'delivered' when dead_at is null then 'waiting' else 'dead' end),
   created_at, delivery_id);
