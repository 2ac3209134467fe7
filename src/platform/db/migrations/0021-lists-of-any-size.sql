-- The list of users reads the page that it shows, and no change of an administrator reads all users.
create index users_newest on users (created_at, user_id) where deleted_at is null;
create index users_administrators on users (created_at, user_id) where role = 'admin';
-- Each second the clients are looked for that wait for a logout token; most clients have no address for one.
create index clients_with_backchannel_logout on clients (client_id) where backchannel_logout_uri is not null;
