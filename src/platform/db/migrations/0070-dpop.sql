-- The key that a code, and later the refresh token, of a grant needs beside it (RFC 9449): its JWK thumbprint; null: none.
alter table grants add column dpop_jkt text;

alter table clients add column dpop_bound_access_tokens bigint not null default 0;
