-- By how many seconds an event is dated before one that was sealed earlier, at most: as far as a clock was ever set back, or
-- the clocks of two nodes differ. A search by date widens its part of the chain by so much.
alter table audit_heads add column most_behind bigint not null default 0;
update audit_heads
   set most_behind = (select coalesce(max(latest - at), 0)
                        from (select at, max(at) over (order by seq) as latest from audit_log where seq is not null) as chain)
 where name = 'head';
