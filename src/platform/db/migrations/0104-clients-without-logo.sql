-- Approved clients that have the address of a logo, and none that people see.
create index clients_without_logo on clients (created_at, client_id)
  where coalesce(status, '') = 'approved' and logo_id is null and logo_url is not null;
