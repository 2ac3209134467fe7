-- Back ends that may call us by themselves: never a partner's client.
create table service_credentials (
  credential_id text primary key,
  name text not null,
  permissions text not null,
  products text not null,
  event_id text not null,
  created_at bigint not null,
  retired_at bigint
);

create table service_secrets (
  secret_id text primary key,
  credential_id text not null references service_credentials (credential_id) on delete cascade,
  secret_hash text not null,
  created_at bigint not null,
  expires_at bigint
);
create index service_secrets_of_credential on service_secrets (credential_id);

-- What a person is entitled to now. `write_id` is of the write that made the row what it is.
create table entitlements (
  user_id text not null references users (user_id) on delete cascade,
  product text not null,
  plan text not null,
  status text not null,
  source text not null,
  version bigint not null,
  current_period_end bigint,
  external_customer_id text,
  external_subscription_id text,
  metadata text,
  write_id text not null,
  updated_at bigint not null,
  primary key (user_id, product)
);

-- Every write that was applied.
create table entitlement_versions (
  user_id text not null references users (user_id) on delete cascade,
  product text not null,
  version bigint not null,
  plan text not null,
  status text not null,
  source text not null,
  current_period_end bigint,
  event_id text,
  credential_id text not null,
  written_at bigint not null,
  primary key (user_id, product, version)
);
create unique index entitlement_versions_by_event on entitlement_versions (user_id, product, event_id)
  where event_id is not null;

-- The audit log's order, and the proof that nothing in it was changed or taken out. Set once, soon after the event.
alter table audit_log add column seq bigint;
alter table audit_log add column seal text;
create unique index audit_log_by_seq on audit_log (seq) where seq is not null;
create index audit_log_unsealed on audit_log (at) where seq is null;
create index audit_log_of_actor on audit_log (actor, seq);
create index audit_log_of_action on audit_log (action, seq);

-- The newest place of the chain once more, sealed under the master key: one row, named 'head'.
create table audit_heads (
  name text primary key,
  seq bigint not null,
  sealed text not null
);

-- Who wants to be told.
create table webhooks (
  webhook_id text primary key,
  url text not null,
  event_types text not null,
  secret_sealed text not null,
  created_at bigint not null,
  disabled_at bigint
);

-- One row for each event and webhook, from the sealing of the event to its delivery.
create table webhook_deliveries (
  delivery_id text primary key,
  webhook_id text not null references webhooks (webhook_id) on delete cascade,
  event_id text not null,
  event_type text not null,
  payload text not null,
  created_at bigint not null,
  attempts bigint not null,
  next_attempt_at bigint,
  last_error text,
  delivered_at bigint,
  dead_at bigint
);
create unique index webhook_deliveries_once on webhook_deliveries (webhook_id, event_id);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where next_attempt_at is not null;
create index webhook_deliveries_delivered on webhook_deliveries (delivered_at) where delivered_at is not null;
create index webhook_deliveries_dead on webhook_deliveries (dead_at) where dead_at is not null;

-- What went wrong for a client lately, for its owner to read: bounded, and without any secret, code or token.
create table client_failures (
  failure_id text primary key,
  client_id text not null references clients (client_id) on delete cascade,
  at bigint not null,
  stage text not null,
  code text not null,
  detail text
);
create index client_failures_of_client on client_failures (client_id, at);
create index client_failures_by_time on client_failures (at);

-- The last sign-ins of a client, without sorting all of them.
drop index grants_of_client;
create index grants_of_client on grants (client_id, created_at);

-- Who made somebody an administrator, and when.
alter table users add column role_granted_by text;
alter table users add column role_granted_at bigint;

-- Whether the house registered it. An owner who leaves sets owner_user_id to null as well, and nobody answers for that.
alter table clients add column of_house bigint not null default 0;
update clients set of_house = 1
 where owner_user_id is null and not exists
       (select 1 from audit_log
         where target = clients.client_id and action = 'client.registered' and actor like 'user:%');
