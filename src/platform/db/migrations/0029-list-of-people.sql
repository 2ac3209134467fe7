-- When a user signed in last. Before this migration the devices that they signed in on knew it.
alter table users add column last_sign_in_at bigint;
update users set last_sign_in_at = (select max(d.last_seen_at) from known_devices d where d.user_id = users.user_id);

-- The same, and until the first sign-in the creation: what the list is ordered by. 0: not known yet of a user whom a node of
-- the version before has created during a rolling upgrade.
alter table users add column active_at bigint not null default 0;
update users set active_at = coalesce(last_sign_in_at, created_at);

-- Whether the user has an authenticator app or a passkey: written with each change of them, and anew at each sign-in, since
-- a node of the version before does not.
alter table users add column has_second_factor bigint not null default 0;
update users set has_second_factor = 1
 where exists (select 1 from totp t where t.user_id = users.user_id and t.confirmed_at is not null)
    or exists (select 1 from passkeys k where k.user_id = users.user_id);

-- Each filter of the list reads the page that it shows.
create index users_by_activity on users (active_at, user_id) where deleted_at is null;
create index users_disabled on users (created_at, user_id) where disabled_at is not null and deleted_at is null;
create index users_unverified on users (created_at, user_id) where email_verified_at is null and deleted_at is null;
create index users_without_second_factor on users (created_at, user_id) where has_second_factor = 0 and deleted_at is null;
