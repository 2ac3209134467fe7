-- A logout token for each client and session whose grants have ended (Back-Channel Logout 1.0). It outlives the grants and
-- their user, who may be deleted with this very change.
create table logout_deliveries (
  delivery_id text primary key,
  client_id text not null,
  user_id text not null,
  session_id text not null,
  created_at bigint not null,
  attempts bigint not null,
  next_attempt_at bigint,
  last_error text,
  delivered_at bigint,
  dead_at bigint
);
create index logout_deliveries_due on logout_deliveries (client_id, next_attempt_at) where next_attempt_at is not null;
create index logout_deliveries_overdue on logout_deliveries (next_attempt_at) where next_attempt_at is not null;
create index logout_deliveries_of_client on logout_deliveries (client_id, created_at, delivery_id);
create index logout_deliveries_of_session on logout_deliveries (client_id, session_id, created_at);
create index logout_deliveries_delivered on logout_deliveries (delivered_at) where delivered_at is not null;
create index logout_deliveries_dead on logout_deliveries (dead_at) where dead_at is not null;

-- The change that revoked it, if its client wants to be notified; null for all others, so the index is empty without any.
alter table grants add column logout_batch text;
create index grants_of_logout_batch on grants (logout_batch) where logout_batch is not null;

-- When to look whether it has expired, if its client wants to be notified of that.
alter table grants add column expiry_check_at bigint;
create index grants_to_check on grants (expiry_check_at) where expiry_check_at is not null and revoked_at is null;
