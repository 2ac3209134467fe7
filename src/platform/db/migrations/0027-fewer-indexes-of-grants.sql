-- One index finds the active grants of a user, those to one client among them, and of one session among those: three did,
-- and each new grant wrote a page of each.
drop index grants_of_user;
create index grants_of_user on grants (user_id, revoked_at, client_id, expires_at);
drop index grants_of_session;
drop index grants_active_of_user_to_client;
