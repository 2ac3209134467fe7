-- Who last got tokens of the grant, and who did before another one came, until which sequence number and when: "- 203.0.113.7 curl/8.9". When a
-- used token comes again, its first use is known by them. Null: nobody since there is this column.
alter table grants add column used_by text;
alter table grants add column used_before_by text;
alter table grants add column used_before_seq bigint;
alter table grants add column used_before_at bigint;

-- What a user is asked about: "was that you?". The client has no reference: its owner and the user read it when the client is gone, too.
create table security_alerts (
  alert_id text primary key,
  user_id text not null references users (user_id) on delete cascade,
  kind text not null,
  client_id text,
  session_id text,
  facts text not null,
  created_at bigint not null,
  expires_at bigint not null,
  answer text,
  answered_at bigint,
  answered_from text
);
create index security_alerts_of_user on security_alerts (user_id, created_at);
create index security_alerts_of_client on security_alerts (client_id, created_at) where client_id is not null;
create index security_alerts_by_expiry on security_alerts (expires_at);
