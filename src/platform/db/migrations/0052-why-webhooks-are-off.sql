-- Why the system has disabled a webhook; null if an administrator did, or a node of the version before.
alter table webhooks add column disabled_reason text;
