-- The public halves of signing keys that have left the key set. They verify the id_token_hint of a session that began when
-- they signed (OpenID Connect RP-Initiated Logout 1.0 §2), and nothing else. They have a table of their own, because a node
-- of the previous version publishes every row of signing_keys during a rolling upgrade. If it is that node that deletes a
-- key there, the key is not kept here, and its hints lead to the page that asks the user.
create table retired_signing_keys (
  kid text primary key,
  algorithm text not null,
  public_jwk text not null,
  created_at bigint not null,
  activated_at bigint,
  retired_at bigint not null
);
