-- Keys of addresses that a node of the version before has written, and that may differ from those of this version: another
-- spelling of an international domain, an ideographic dot, or a dot at the end. A job writes them anew.
create index users_with_old_email_key on users (user_id)
  where email_key <> rtrim(replace(replace(email_key, 'xn--', ''), '。', ''), '.');

-- The user whose address is the same mailbox in another spelling. Null for all others.
alter table users add column same_mailbox_as text;
create index users_of_same_mailbox on users (created_at, user_id) where same_mailbox_as is not null and deleted_at is null;
