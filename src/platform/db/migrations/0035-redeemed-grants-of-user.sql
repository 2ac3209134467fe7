-- Of the grants of a user to one client, those whose code was redeemed are found without reading the codes that were not, of
-- which thousands may wait to be deleted.
drop index grants_of_user;
create index grants_of_user on grants
 (user_id, revoked_at, client_id, (case when redeemed_at is null then 1 else 0 end), expires_at);
