-- Which password it is, however many are set within one second. Empty: set before there were versions.
alter table passwords add column version text not null default '';
