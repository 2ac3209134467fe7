-- Recipients take turns (docs/decisions/0027): the mails of one have a lane, and a turn each. Those that a user waits for are
-- read apart from others, and new ones apart from those to be tried again. A node of the version before writes none of it:
-- its mails are read first among the others.
alter table outgoing_mails add column is_prompt bigint not null default 0;
alter table outgoing_mails add column lane text not null default '';
alter table outgoing_mails add column turn bigint not null default 0;
create index outgoing_mails_new on outgoing_mails (is_prompt, turn, created_at) where attempts = 0;
create index outgoing_mails_of_lane on outgoing_mails (is_prompt, lane, turn) where attempts = 0;
create index outgoing_mails_again on outgoing_mails (is_prompt, next_attempt_at) where attempts > 0;
drop index outgoing_mails_by_time;
