-- One more of what users say about themselves, for the scope profile (OpenID Connect Core §5.1).
alter table users add column middle_name text;
