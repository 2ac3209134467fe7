-- Where a client says how it uses data, and its terms (RFC 7591 §2). Reviewed as its home page is.
alter table clients add column policy_uri text;
alter table clients add column tos_uri text;
