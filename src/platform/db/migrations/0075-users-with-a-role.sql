-- Of all roles but that of every user; users_administrators is for one of them.
create index users_with_role on users (created_at, user_id) where role <> 'user';
