-- `list`: access tokens for the API carry a status, by which it knows revoked ones from a list (draft-ietf-oauth-status-list).
alter table apis add column token_status text not null default 'none';

-- Where lists say whether tokens of the grant are revoked: `list.index`, with spaces between them, of those issued in `status_window` and
-- in the window before it. Null: of none.
alter table grants add column status_window bigint;
alter table grants add column status_refs text;
alter table grants add column status_refs_before text;
create index grants_revoked_with_status on grants (revoked_at, grant_id) where revoked_at is not null and status_refs is not null;

-- The same of a token that was revoked alone, or of all of a grant that was deleted.
alter table revoked_access_tokens add column status_refs text;
create index revoked_access_tokens_with_status on revoked_access_tokens (jti) where status_refs is not null;
