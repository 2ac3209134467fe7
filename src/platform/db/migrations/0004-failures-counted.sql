-- Failures that are alike are one row that counts. What was kept before stays, each for itself.
alter table client_failures add column last_at bigint not null default 0;
alter table client_failures add column count bigint not null default 1;
update client_failures set last_at = at;
drop index client_failures_of_client;
drop index client_failures_by_time;
create index client_failures_of_kind on client_failures (client_id, stage, code, last_at);
create index client_failures_by_time on client_failures (last_at);
