-- The username that an administrator gives to the person who is invited. Until then a row of `handles` reserves it.
alter table one_time_links add column preferred_username text;
