-- What a write said besides, which the next one overwrites. Of writes from before it is null, but for those that count.
alter table entitlement_versions add column external_customer_id text;
alter table entitlement_versions add column external_subscription_id text;
alter table entitlement_versions add column metadata text;
update entitlement_versions set
  external_customer_id = (select e.external_customer_id from entitlements e
    where e.user_id = entitlement_versions.user_id and e.product = entitlement_versions.product),
  external_subscription_id = (select e.external_subscription_id from entitlements e
    where e.user_id = entitlement_versions.user_id and e.product = entitlement_versions.product),
  metadata = (select e.metadata from entitlements e
    where e.user_id = entitlement_versions.user_id and e.product = entitlement_versions.product)
 where exists (select 1 from entitlements e
    where e.user_id = entitlement_versions.user_id and e.product = entitlement_versions.product
      and e.version = entitlement_versions.version);

-- The history of a person, and the deliveries of a webhook, a page at a time and without sorting all of them.
create index entitlement_versions_by_time on entitlement_versions (user_id, written_at, product, version);
create index webhook_deliveries_by_time on webhook_deliveries (webhook_id, created_at, delivery_id);
