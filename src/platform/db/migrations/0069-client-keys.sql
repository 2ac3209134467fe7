-- Public keys by which a client proves who it is (RFC 7591 §2): a JSON Web Key Set, or where it is published.
alter table clients add column jwks text;
alter table clients add column jwks_uri text;
