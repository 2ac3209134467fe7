-- What an administrator has given by links ends with that administrator's access.
create index one_time_links_by_giver on one_time_links (invited_by) where invited_by is not null;
