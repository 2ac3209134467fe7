-- Addresses to which a mail server has refused a mail for good, until one is taken. Beyond some ten thousand the oldest go.
create table refused_addresses (
  -- Of the key of the address.
  address_hash text /* postgres: collate "C" */ primary key,
  email text not null,
  -- What the server said last, as it is shown.
  answer text not null,
  first_at bigint not null,
  last_at bigint not null,
  count bigint not null
);
create index refused_addresses_by_time on refused_addresses (last_at, address_hash);
