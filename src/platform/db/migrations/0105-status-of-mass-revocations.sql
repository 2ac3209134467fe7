-- Lists of revoked tokens find what was revoked one by one by when, and everything else by what has revoked it. No index may have a
-- column that issuing a token writes, in its condition neither: PostgreSQL would write an entry of every index of the table for each token.
alter table grants add column revoked_in_bulk bigint;
drop index grants_revoked_with_status;
create index grants_revoked_alone on grants (revoked_at, grant_id) where revoked_at is not null and revoked_in_bulk is null;

alter table revoked_access_tokens add column noted_at bigint not null default 0;
drop index revoked_access_tokens_with_status;
create index revoked_access_tokens_with_status on revoked_access_tokens (noted_at, jti) where status_refs is not null;
