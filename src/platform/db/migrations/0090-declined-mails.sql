-- Who wants no more daily mails about clients that wait for a review.
create table declined_review_mails (
  user_id text primary key references users (user_id) on delete cascade,
  declined_at bigint not null
);
