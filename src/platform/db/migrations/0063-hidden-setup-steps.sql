-- The steps of setting up that an administrator does not want to be reminded of on the first page, separated by spaces.
create table hidden_setup_steps (
  user_id text primary key references users (user_id) on delete cascade,
  steps text not null
);
