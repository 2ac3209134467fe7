-- Entitlements of all users by status, of a product, and of a product's plan: the last changed first.
create index entitlements_by_status on entitlements (status, updated_at, user_id, product);
create index entitlements_of_product on entitlements (product, status, updated_at, user_id);
create index entitlements_of_plan on entitlements (product, plan, status, updated_at, user_id);
