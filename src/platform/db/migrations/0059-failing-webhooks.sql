-- Since when no delivery to a webhook has succeeded; null while they do. A node of the version before leaves it as it is, and
-- the next success at a newer node clears it.
alter table webhooks add column failing_since bigint;
-- Whether administrators have been notified: 1 of the failures, 2 that it was disabled for them.
alter table webhooks add column failure_notified integer not null default 0;
-- The latest attempts of a delivery, as JSON.
alter table webhook_deliveries add column attempt_log text;
-- Who disabled it is in the audit log at that very moment.
update webhooks set disabled_reason = 'failing', failure_notified = 2
 where disabled_at is not null and disabled_reason is null
   and exists (select 1 from audit_log
                where target = webhooks.webhook_id and at = webhooks.disabled_at and action = 'webhook.disabled'
                  and actor = 'system');
