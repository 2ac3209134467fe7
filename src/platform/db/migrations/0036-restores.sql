-- Each restore of a backup. While a row has no restored_at, this store is a copy in which what has ended since may still be
-- valid, so no server starts on it. The newest restore has a part in the keys of state that browsers keep.
create table restores (
  restore_id text primary key,
  taken_at bigint,
  restored_at bigint
);
