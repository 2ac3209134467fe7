-- The secret before, sealed like `secret_sealed`. Until that moment, in Unix seconds, it signs beside the new one.
alter table webhooks add column previous_secret_sealed text;
alter table webhooks add column previous_secret_until bigint;
