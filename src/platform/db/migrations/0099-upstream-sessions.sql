-- By which account and session of a provider a session was signed in last, so that their end there ends it here. `upstream_sid`: null if
-- the provider has told none. `upstream_at`: when the provider issued the ID token, by its own clock.
alter table sessions add column upstream_issuer text;
alter table sessions add column upstream_subject text;
alter table sessions add column upstream_sid text;
alter table sessions add column upstream_at bigint;
create index sessions_of_upstream on sessions (upstream_issuer, upstream_sid) where upstream_sid is not null and ended_at is null;

-- The same of a sign-in that waits for its second factor, as JSON.
alter table sign_in_attempts add column upstream text;

-- The last end of sessions that the provider has reported: a sign-in that was under way at that time does not outlive it.
-- `signed_out_sid`: of this session there alone; null: of all.
alter table identities add column signed_out_sid text;
alter table identities add column signed_out_at bigint;

-- What a provider proves itself by when it pushes security events, and the audience of its tokens if that is not its client_id.
alter table providers add column signals_secret_hash text;
alter table providers add column signals_audience text;

-- What came in of a provider: a row for each kind and outcome, `accepted` or the reason of a refusal.
create table provider_receipts (
  provider_id text not null,
  kind text not null,
  outcome text not null,
  last_at bigint not null,
  times bigint not null,
  primary key (provider_id, kind, outcome)
);
create index provider_receipts_by_time on provider_receipts (last_at);
