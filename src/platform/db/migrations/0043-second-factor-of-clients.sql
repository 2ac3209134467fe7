-- The authentication context classes that a client accepts, by preference (OpenID Connect Dynamic Client Registration 1.0 §2),
-- as a JSON list. A node of the version before leaves it as it is.
alter table clients add column default_acr_values text not null default '[]';
