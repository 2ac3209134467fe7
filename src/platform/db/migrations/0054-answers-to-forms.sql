-- Answers to forms, for a browser that sends the same form again within a minute: sealed under what is in that form alone. Null
-- while the first is worked on.
create table form_answers (
  form_hash text primary key,
  sender text not null,
  sealed text,
  expires_at bigint not null
);
create index form_answers_of_sender on form_answers (sender, expires_at);
create index form_answers_by_expiry on form_answers (expires_at);
