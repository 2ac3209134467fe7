-- What its user calls a session. Null: it goes by its browser.
alter table sessions add column name text;
