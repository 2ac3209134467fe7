-- A deleted webhook is gone at once; its deliveries are deleted slice by slice, and the row last.
alter table webhooks add column deleted_at bigint;
