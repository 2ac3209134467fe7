-- The length that was required when a password was set, which says less of it to a thief of the store than its length would.
-- Null: set before this version, or by a node of it.
alter table passwords add column min_characters bigint;
