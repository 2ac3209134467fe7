-- Of one user, a client may have so many active grants; the next one revokes the oldest (src/oauth/grants).
create index grants_active_of_user_to_client on grants (user_id, client_id, expires_at)
 where redeemed_at is not null and revoked_at is null;
