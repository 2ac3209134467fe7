-- What was done to one thing, or by one actor, of one kind: nearly all events of a popular client are consents, and a review looks
-- for a few others. The words of the expressions are those of audit/store.ts. They keep planners from other indexes: none knows
-- which actions belong to which targets, and PostgreSQL would read the whole chain backwards to save itself a sort, where much of
-- the log is about one target. What is partial is written when an event gets its place.
drop index audit_log_of_action;
drop index audit_log_of_actor;
drop index audit_log_of_target;
drop index audit_log_of_target_by_seq;
create index audit_log_of_action on audit_log (action, (seq + 0));
create index audit_log_of_actor on audit_log (actor, (seq + 0)) where seq is not null;
create index audit_log_of_actor_and_action on audit_log ((actor || ' ' || action), (seq + 0)) where seq is not null;
create index audit_log_of_target on audit_log (target, (seq + 0));
create index audit_log_of_target_and_action on audit_log ((target || ' ' || action), (seq + 0)) where seq is not null;
