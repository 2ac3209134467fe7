-- Forms that a sign-in interrupted: at most one a session, sealed, shown once more to the same session.
create table kept_forms (
  session_id text primary key,
  page text not null,
  sealed text not null,
  expires_at bigint not null
);
create index kept_forms_by_expiry on kept_forms (expires_at);
