-- A refresh or redemption may be kept although nobody was told so: the connection broke, or the process died.

-- Which issuance moved the grant to its present sequence: `run.sequence.random`.
alter table grants add column issuance_id text;
-- Until when the client may ask for that issuance again, since it may not have got the answer.
alter table grants add column unanswered_until bigint;

-- A row for each process that issues tokens. It is gone without a goodbye when `lost_at` is set.
create table issuing_runs (
  run_id text primary key,
  seen_at bigint not null,
  lost_at bigint
);
