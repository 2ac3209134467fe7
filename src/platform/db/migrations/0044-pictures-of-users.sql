-- A picture that a user has uploaded, in base64. `users.picture` has its URL, or one of another service.
create table user_pictures (
  picture_id text primary key,
  user_id text not null references users (user_id) on delete cascade,
  media_type text not null,
  content text not null,
  created_at bigint not null
);
create unique index user_pictures_of_user on user_pictures (user_id);
