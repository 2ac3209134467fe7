-- An event that a logged request caused has the id of that request as the end of its own, after a point. The words are those of
-- the condition in audit/store.ts, or neither engine would take the index for it.
create index audit_log_of_request on audit_log (substr(event_id, 14), seq) where substr(event_id, 13, 1) = '.';
