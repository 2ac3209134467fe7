-- Whether its access tokens carry a status in a list, whichever API they are for.
alter table clients add column status_in_access_token bigint not null default 0;
