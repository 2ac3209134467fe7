-- Links of a kind, the newest first, for the list of invitations.
drop index one_time_links_by_purpose;
create index one_time_links_by_purpose on one_time_links (purpose, created_at, token_hash);
-- Invitations of an address.
create index invitations_of_address on one_time_links (email) where purpose in ('invitation', 'mailed_invitation');
