-- Who was chosen on the account page of a waiting request: a time alone would count for whoever signs in afterwards.
-- account_selected_at is no longer read; it stays for nodes of the version before.
alter table authorization_requests add column account_selected_user_id text;
