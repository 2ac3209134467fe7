-- The operator's own picture on the button of a provider; null: none. `logo_id`: of its content (SHA-256, 32 hexadecimal digits).
alter table providers add column logo_id text;
alter table providers add column logo_type text;
-- Base64.
alter table providers add column logo text;
